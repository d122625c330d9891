/** More writes than this in one claim are told apart no longer; they are still applied. */
const MAX_NUMBER = 2 ** 24 - 1

/**
 * Where a write stands among all writes to its run: those of a later claim after those of an earlier one, and in a
 * claim by their number. Stores keep it with what they write, so that a write which arrives late replaces nothing newer.
 */
export function writeOrder({ fence, number }: { readonly fence: number; readonly number: number }): number {
  return fence * (MAX_NUMBER + 1) + Math.min(number, MAX_NUMBER)
}
