/**
 * Resolves after `ms`, or as soon as `signal` aborts.
 *
 * @param {number} ms
 * @param {AbortSignal} signal
 */
export async function pause(ms, signal) {
  if (signal.aborted) return
  await new Promise((resolve) => {
    const finish = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', finish)
      resolve(null)
    }
    const timer = setTimeout(finish, ms)
    signal.addEventListener('abort', finish)
  })
}
