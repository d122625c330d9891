import { absurd } from './absurd.mjs'
import { bullmq } from './bullmq.mjs'
import { dbos } from './dbos.mjs'
import { graphile } from './graphile.mjs'
import { limits } from './limits.mjs'
import { openworkflow } from './openworkflow.mjs'
import { perdure } from './perdure.mjs'
import { pgboss } from './pgboss.mjs'
import { restate } from './restate.mjs'

/**
 * Every system, its settings and what it guarantees. Nothing of the system itself is loaded before `open` is called.
 * @type {readonly import('./contract.d.ts').System[]}
 */
export const systems = [
  ...limits,
  ...perdure,
  dbos,
  ...openworkflow,
  absurd,
  restate,
  bullmq,
  pgboss,
  graphile,
]
