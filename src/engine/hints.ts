import { isTerminal } from '../core/run.ts'
import type { Hint } from '../ports/notifier.ts'
import type { AdvanceWrite, RunState, Write, WriteResult } from '../ports/store.ts'

/** Adds to `hints` what others should hear of an applied write. */
export function hintsOf(write: Write, result: WriteResult, hints: Hint[]): void {
  if (result.status !== 'ok') return
  switch (write.type) {
    case 'create':
      if (write.claimedBy === null) hints.push({ kind: 'due', at: write.run.dueAt })
      return
    case 'deliver':
    case 'control':
      if (result.run !== null) stateHints(write.runId, result.run, hints)
      return
    case 'advance':
      advanceHints(write, result.run, hints)
  }
}

function advanceHints(write: AdvanceWrite, state: RunState | null, hints: Hint[]): void {
  if (state !== null && write.to !== null) stateHints(write.runId, state, hints)
  for (const { run, claimedBy } of write.children) {
    if (claimedBy === null) hints.push({ kind: 'due', at: run.dueAt })
  }
  for (const other of [...write.deliveries, ...write.cancels]) {
    hints.push({ kind: 'due', at: 0 }, { kind: 'delivered', runId: other.runId })
  }
}

function stateHints(runId: string, state: RunState, hints: Hint[]): void {
  if (isTerminal(state.status)) hints.push({ kind: 'ended', runId })
  else if (state.status === 'running') hints.push({ kind: 'delivered', runId })
  else if (state.status !== 'paused' && state.dueAt !== null) hints.push({ kind: 'due', at: state.dueAt })
}
