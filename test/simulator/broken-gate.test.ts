import { describe, expect, it, vi } from 'vitest'
import { violatedBy } from './seeds.ts'

vi.mock('../../src/engine/write-buffer.ts', async (importOriginal) => {
  const { WriteBuffer } = await importOriginal<typeof import('../../src/engine/write-buffer.ts')>()
  return {
    WriteBuffer: class extends WriteBuffer {
      override whenDurable(open: () => void): void {
        open()
      }
    },
  }
})

describe('the simulator notices', () => {
  it('an engine whose step bodies do not wait for what led to them', async () => {
    const wanted = 'effects wait for what led to them'
    expect(await violatedBy(wanted, {}, 50)).toContain(wanted)
  })
})
