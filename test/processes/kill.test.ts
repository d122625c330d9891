/**
 * SIGKILL at random moments, again and again, while three workers and a client share one database. What really happened is
 * read from the log of side effects, which the step bodies write themselves.
 */
import { test } from 'vitest'
import { Fleet } from './fleet.ts'
import { Dice, newWorld, sharedDatabases } from './kit.ts'
import { verify } from './truth.ts'

/** How often on each database. `npm run test:long` takes 200 for all of them. */
const KILLS = { SQLite: 200, PostgreSQL: 50, MongoDB: 50 }
const seed = Number(process.env['PERDURE_SEED'] ?? Date.now() % 1_000_000)

test.each(await sharedDatabases())(
  'W10 X1 X3 X21 B010 B018 B020: kills lose no run and repeat no step without cause, on %s',
  async (database, url) => {
    console.log(`kill.test.ts: PERDURE_SEED=${seed}`)
    const world = await newWorld(url)
    const fleet = new Fleet(world, { dice: new Dice(seed), workers: 3, leaseMs: 500 })
    await fleet.killAtRandom(Number(process.env['PERDURE_KILLS'] ?? KILLS[database]))
    await fleet.wind()
    console.log(`kill.test.ts on ${database}: ${await verify(world, fleet)}`)
  },
)
