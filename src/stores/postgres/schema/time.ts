/** The SQL of a time plus a duration, both parameters or columns, no later than the last valid time. */
export function timePlus(time: string, duration: string): string {
  return `least(${time} + ${duration}, 8640000000000000)`
}
