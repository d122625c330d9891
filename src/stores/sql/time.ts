import { MAX_TIME } from '../../core/limits.ts'

/**
 * The SQL of a time plus a duration, both parameters or columns, no later than the last valid time. `smaller`: the
 * function of the dialect that gives the smaller of two numbers.
 */
export function timePlus(time: string, duration: string, smaller: 'min' | 'least' = 'min'): string {
  return `${smaller}(${time} + ${duration}, ${MAX_TIME})`
}
