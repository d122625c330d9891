import { createHash } from 'node:crypto'

/** The workflows under which Pikku's records are kept. No engine registers them, so no worker takes them. */
export const RUN = 'pikku:run'
export const STEP = 'pikku:step'
export const LOCK = 'pikku:lock'
export const VERSION = 'pikku:version'
export const PRESENCE = 'pikku:worker'

/** The record of a step: the same for everybody who asks for this step of this run. */
export function stepRecordId(runId: string, stepName: string): string {
  return `pikku:step:${digest(runId, stepName)}`
}

/** What Pikku calls the id of a step is one attempt of it. */
export function stepIdOf(recordId: string, attempt: number): string {
  return `${recordId}:${attempt}`
}

/** The record and the number of the attempt behind the id of a step; `null` for ids that are not from here. */
export function parseStepId(stepId: string): { readonly recordId: string; readonly attempt: number } | null {
  const [, recordId, attempt] = /^(pikku:step:[\w-]+):(\d+)$/.exec(stepId) ?? []
  return recordId === undefined ? null : { recordId, attempt: Number(attempt) }
}

/** The run that an attempt of a step starts: the same when it is started again. */
export function childRunId(stepId: string): string {
  return `pikku:child:${digest(stepId)}`
}

export function lockId(...name: readonly string[]): string {
  return `pikku:lock:${digest(...name)}`
}

export function versionId(workflow: string, graphHash: string): string {
  return `pikku:version:${digest(workflow, graphHash)}`
}

/** 256 bits: two names never share one. */
function digest(...parts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64url')
}
