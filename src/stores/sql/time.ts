import { MAX_TIME } from '../../core/limits.ts'

/** The SQL of a time plus a duration, both parameters or columns, no later than the last valid time. */
export function timePlus(time: string, duration: string): string {
  return `min(${time} + ${duration}, ${MAX_TIME})`
}
