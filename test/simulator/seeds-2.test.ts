import { describe } from 'vitest'
import { itHoldsFor } from './seeds.ts'

// Two files, so that two workers share the seeds.
describe('the engine in the simulator, with all faults', () => {
  itHoldsFor(501, 500)
})
