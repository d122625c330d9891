import { displayWidth, pad, truncate } from './width.ts'

/** A column of a table. */
export interface Column {
  readonly title: string
  readonly align?: 'left' | 'right'
  /** Whether it may be cut off when the table is wider than the terminal. */
  readonly shrinks?: boolean
}

/** What stands in a field: safe text, and a colour that takes no room. */
export interface Cell {
  readonly text: string
  readonly paint?: (text: string) => string
}

export interface TableOptions {
  /** `null`: as wide as it is. */
  readonly width: number | null
  /** Paints the titles. */
  readonly paintTitle?: (text: string) => string
}

const GAP = '  '
/** A column that is cut off keeps at least so much. */
const MIN_WIDTH = 8

/** Lays out a table: the line of the titles, then one line per row. */
export function table(
  columns: readonly Column[],
  rows: readonly (readonly Cell[])[],
  { width, paintTitle }: TableOptions,
): string[] {
  const title = columns.map(
    ({ title }): Cell => (paintTitle ? { text: title, paint: paintTitle } : { text: title }),
  )
  const lines = [title, ...rows]
  const widths = fitted(columns, naturalWidths(columns, lines), width)
  return lines.map((cells) => rowLine(columns, cells, widths))
}

function naturalWidths(columns: readonly Column[], lines: readonly (readonly Cell[])[]): number[] {
  return columns.map((_, index) =>
    lines.reduce((widest, cells) => Math.max(widest, displayWidth(cells[index]?.text ?? '')), 0),
  )
}

/** Takes away from the widest columns that may shrink, until all fits or none can give more. */
function fitted(columns: readonly Column[], natural: readonly number[], available: number | null): number[] {
  const widths = [...natural]
  if (available === null) return widths
  const gaps = GAP.length * (columns.length - 1)
  let excess = widths.reduce((sum, width) => sum + width, gaps) - available
  while (excess > 0) {
    const index = widestShrinking(columns, widths)
    if (index < 0) break
    widths[index] = (widths[index] ?? 0) - 1
    excess -= 1
  }
  return widths
}

function widestShrinking(columns: readonly Column[], widths: readonly number[]): number {
  let found = -1
  for (const [index, { shrinks }] of columns.entries()) {
    const width = widths[index] ?? 0
    if (shrinks === true && width > MIN_WIDTH && width > (widths[found] ?? 0)) found = index
  }
  return found
}

function rowLine(columns: readonly Column[], cells: readonly Cell[], widths: readonly number[]): string {
  const fields = columns.map(({ align = 'left' }, index) => {
    const { text, paint } = cells[index] ?? { text: '' }
    const shown = truncate(text, widths[index] ?? 0)
    const padding = pad('', (widths[index] ?? 0) - displayWidth(shown))
    const painted = paint === undefined ? shown : paint(shown)
    const isLast = index === columns.length - 1
    if (align === 'right') return padding + painted
    return isLast ? painted : painted + padding
  })
  return fields.join(GAP).trimEnd()
}
