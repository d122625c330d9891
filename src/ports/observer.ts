import type { RunStatus } from '../core/run.ts'

/** What happens in an engine, for those who watch: telemetry, tests, the simulator. Times are epoch ms. */
export type EngineEvent =
  /** The function is called: `cold` from the top, or goes on in memory: `hot`. */
  | {
      readonly type: 'execution-started'
      readonly runId: string
      readonly workflow: string
      readonly fence: number
      readonly how: 'cold' | 'hot'
    }
  /** The run was parked, has ended, is due again or paused: what the store made of it. */
  | {
      readonly type: 'execution-left'
      readonly runId: string
      readonly workflow: string
      readonly fence: number
      readonly status: RunStatus | 'unknown'
    }
  /** The execution is over without having written that: its claim is lost. */
  | {
      readonly type: 'execution-lost'
      readonly runId: string
      readonly workflow: string
      readonly fence: number
    }
  | {
      readonly type: 'body-started'
      readonly runId: string
      readonly workflow: string
      readonly fence: number
      readonly key: string
      readonly attempt: number
      /** How many outcomes the function had been given when it asked for this step. */
      readonly after: number
    }
  /** `late`: it ended after its attempt was over, and what it returned was dropped. */
  | {
      readonly type: 'body-ended'
      readonly runId: string
      readonly workflow: string
      readonly fence: number
      readonly key: string
      readonly attempt: number
      readonly outcome: 'succeeded' | 'failed' | 'late'
    }
  /** An outcome was handed to the function. */
  | {
      readonly type: 'handed-out'
      readonly runId: string
      readonly workflow: string
      readonly fence: number
      readonly key: string
      readonly order: number
      /** Whether it came from the journal. */
      readonly replayed: boolean
    }

/** Called synchronously; must not throw and not take long. */
export type Observer = (event: EngineEvent) => void
