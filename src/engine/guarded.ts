import type { Environment, Log } from '../ports/environment.ts'
import type { Hint, Notifier } from '../ports/notifier.ts'
import type { Observer } from '../ports/observer.ts'

/** An observer whose failures are logged and otherwise ignored: telemetry must not stop the work that it watches. */
export function guardedObserver(observer: Observer, env: Environment): Observer {
  return (event) => {
    try {
      observer(event)
    } catch (error) {
      env.log.error('the observer threw', { event: event.type, error: String(error) })
    }
  }
}

/** A notifier whose failures are logged: a hint that is lost costs time only. */
export function guardedNotifier(notifier: Notifier, env: Environment): Notifier {
  return {
    publish: (hints: readonly Hint[]) => {
      try {
        notifier.publish(hints)
      } catch (error) {
        env.log.error('the notifier threw', { error: String(error) })
      }
    },
    subscribe: (listener) => notifier.subscribe(listener),
    close: () => notifier.close(),
  }
}

/** A log that cannot fail: what it throws is lost. */
export function guardedLog(log: Log): Log {
  const guard = (level: keyof Log): Log['info'] => {
    return (message, fields) => {
      try {
        log[level](message, fields)
      } catch {
        // There is nowhere left to say so.
      }
    }
  }
  return { debug: guard('debug'), info: guard('info'), warn: guard('warn'), error: guard('error') }
}
