import { expect, test } from 'vitest'
import { serializedError } from '../../src/pikku/records.ts'

test.each([
  [null, 'null'],
  [undefined, 'undefined'],
  ['text', 'text'],
  [7n, '7'],
  [Object.create(null), 'a thrown object without a text'],
])('X17: what is thrown and is no error is kept as one: %#', (thrown, message) => {
  expect(serializedError(thrown)).toMatchObject({ name: 'Error', message, expected: false })
})
