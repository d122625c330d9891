import type { ExecutionHost } from '../host.ts'
import { BaseOperation } from './base.ts'

/** The key under which `run.cancel` waits for the interrupt that it causes. */
export const SELF_CANCEL_KEY = '#cancel'

/** `run.cancel`: an operation that ends only by the interrupt. */
export class SelfCancel extends BaseOperation<never> {
  readonly #cancel: () => void

  constructor(host: ExecutionHost, cancel: () => void) {
    super(host, { key: SELF_CANCEL_KEY, kind: 'interrupt', target: null })
    this.#cancel = cancel
  }

  proceed(): void {
    this.#cancel()
  }
}
