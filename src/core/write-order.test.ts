import { expect, test } from 'vitest'
import { writeOrder } from './write-order.ts'

test('orders writes by claim, then by number, as whole numbers', () => {
  const orders = [
    { fence: 1, number: 1 },
    { fence: 1, number: 2 },
    { fence: 1, number: 1e9 },
    { fence: 2, number: 1 },
    { fence: 100_000_000, number: 5 },
  ].map(writeOrder)
  expect(orders).toEqual([...orders].sort((a, b) => a - b))
  expect(new Set(orders).size).toBe(orders.length)
  expect(orders.every(Number.isSafeInteger)).toBe(true)
})
