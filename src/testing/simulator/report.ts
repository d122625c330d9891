import { createHash } from 'node:crypto'
import type { Trace, TraceEvent, Violation } from '../../core/invariants.ts'
import type { Stored } from '../../core/invariants-trace.ts'

/** What is reported of a simulation. */
interface Found {
  readonly seed: number
  readonly trace: Trace
  readonly violations: readonly Violation[]
}

/** A digest of a trace: equal for equal traces. */
export function digestOf(trace: Trace): string {
  const digest = createHash('sha256')
  for (const event of trace) digest.update(`${event.at} ${lineOf(event)}\n`)
  return digest.digest('hex')
}

/** A trace as text, one numbered line per event; times in ms since the first. */
export function formatTrace(trace: Trace): string {
  const start = trace[0]?.at ?? 0
  return trace.map((event, position) => `${position}\t+${event.at - start}\t${lineOf(event)}`).join('\n')
}

/** What went wrong in a simulation, the events that show it, and how to run it again. */
export function formatViolations({ seed, trace, violations }: Found): string {
  const start = trace[0]?.at ?? 0
  const lines = [`Seed ${seed}: ${violations.length} violations`]
  for (const { invariant, message, positions } of violations) {
    lines.push(`\n  ${invariant}: ${message}`)
    for (const position of positions) {
      const event = trace[position]
      if (event !== undefined) lines.push(`    ${position}\t+${event.at - start}\t${lineOf(event)}`)
    }
  }
  lines.push(`\nRun it again: npm run sim -- --seed ${seed} --trace`)
  return lines.join('\n')
}

function lineOf(event: TraceEvent): string {
  const { type, process, at: _, ...rest } = event
  if (event.type === 'stored') return `${process}\t${storedLine(event)}`
  return `${process}\t${type} ${Object.values(rest).map(shown).join(' ')}`
}

function storedLine({ cause, run, claim, entries, consumed, item }: Stored): string {
  const { id, workflow, key, status, dueAt, attempt, epoch, fence, owner, deliveries, seen, pauseRequested } =
    run
  const parts = [
    `${cause} ${id} ${workflow} ${status} due=${dueAt} attempt=${attempt} epoch=${epoch} fence=${fence}`,
    `owner=${owner} deliveries=${seen}/${deliveries}`,
    ...(key === null ? [] : [`key=${key}`]),
    ...(pauseRequested ? ['pause-requested'] : []),
    ...(run.cancelReason === null ? [] : ['cancelling']),
    ...(claim === null ? [] : [`sent-under=${claim.worker}/${claim.fence}`]),
    ...(item === null ? [] : [`item=${item.kind} ${item.name} ${item.id} at ${item.at}`]),
    ...(consumed.length === 0 ? [] : [`consumed=${consumed.join(',')}`]),
    // Errors hold stacks, which differ between machines.
    ...entries.map((entry) => {
      const value = entry.status === 'failed' ? 'error' : entry.value
      return `[${entry.key} ${entry.kind} ${entry.status} epoch=${entry.epoch} order=${entry.order} due=${entry.dueAt} ${value}]`
    }),
  ]
  return parts.join(' ')
}

function shown(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
