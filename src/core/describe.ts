import { MAX_ERROR_MESSAGE } from './limits.ts'

/** Marks errors across copies of the package: `instanceof` fails there, a registered symbol does not. */
export const errorBrand: unique symbol = Symbol.for('perdure.error') as never

/** One line about anything that was thrown. Never throws itself. */
export function describe(thrown: unknown): string {
  try {
    if (thrown instanceof Error) return `${thrown.name}: ${thrown.message}`.slice(0, MAX_ERROR_MESSAGE)
    const text = (typeof thrown === 'object' ? JSON.stringify(thrown) : undefined) ?? String(thrown)
    return text.slice(0, MAX_ERROR_MESSAGE)
  } catch {
    // A getter, a proxy or a cycle in it throws.
    return 'something that cannot be read'
  }
}
