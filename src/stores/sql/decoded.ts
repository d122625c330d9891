import { fromStoredText } from './text.ts'

/** A row as its texts were meant: see `toStoredText`. */
export function decoded<Row extends object>(row: Row): Row {
  const changed: Record<string, string> = {}
  for (const [column, value] of Object.entries(row)) {
    if (typeof value !== 'string') continue
    const text = fromStoredText(value)
    if (text !== value) changed[column] = text
  }
  return { ...row, ...changed }
}
