/** A stretch of time, epoch ms. */
export interface Span {
  readonly from: number
  readonly to: number
}

/**
 * A bar that shows where `span` lies within `whole`, `width` columns wide. However short, it can be seen.
 *
 * @example bar({ from: 5, to: 10 }, { from: 0, to: 10 }, 4, '█') // '  ██'
 */
export function bar(span: Span, whole: Span, width: number, block: string): string {
  const length = Math.max(1, whole.to - whole.from)
  const column = (time: number): number => {
    const share = (time - whole.from) / length
    return Number.isNaN(share) ? 0 : Math.min(Math.max(share, 0), 1) * width
  }
  const start = Math.min(Math.floor(column(span.from)), width - 1)
  const end = Math.max(Math.round(column(span.to)), start + 1)
  return ' '.repeat(start) + block.repeat(Math.min(end, width) - start)
}
