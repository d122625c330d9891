import { decodeValue, encodeValue } from '../core/codec.ts'
import { UnserializableValueError } from '../core/errors.ts'

/** Largest encoded value, in bytes: the limit below which every store takes it with what else is in its record. */
const MAX_BYTES = 8 * 1024 * 1024

/**
 * Encodes a value. What only `toJSON` can say (instances of classes, mostly) is written as JSON would: the stores that
 * come with Pikku keep all values so.
 *
 * @throws ValueTooLargeError above 8 MiB
 */
export function encode(value: unknown, what: string): string {
  try {
    return encodeValue(value, { what, maxBytes: MAX_BYTES })
  } catch (error) {
    if (!(error instanceof UnserializableValueError)) throw error
    return encodeValue(asJson(value, error), { what, maxBytes: MAX_BYTES })
  }
}

/** Decodes what {@link encode} wrote, as what it was written as. */
export function decode<Value>(text: string): Value {
  return decodeValue(text) as Value
}

function asJson(value: unknown, otherwise: Error): unknown {
  try {
    const text: string | undefined = JSON.stringify(value)
    return text === undefined ? undefined : JSON.parse(text)
  } catch {
    throw otherwise
  }
}
