import type { RunRecord } from '../../index.ts'
import { type Decoded, errorOf, inputOf, outputOf } from '../decode.ts'
import { type Json, type JsonOptions, toJson } from './json.ts'
import { isoTime } from './time.ts'

/** A run as `--json` shows it: values decoded, times in ISO 8601. Fields are only ever added. */
export function runJson(run: RunRecord, options: JsonOptions = {}): Readonly<Record<string, Json>> {
  const { id, workflow, version, queue, key, priority, tags, status, attempt, deaths, owner } = run
  return {
    ...{ id, workflow, version, queue, key, priority, tags, status, attempt, deaths, owner },
    parentId: run.parentId,
    cancelReason: run.cancelReason,
    pauseRequested: run.pauseRequested,
    createdAt: isoTime(run.createdAt),
    startedAt: isoTime(run.startedAt),
    endedAt: isoTime(run.endedAt),
    dueAt: isoTime(run.dueAt),
    deadline: isoTime(run.deadline),
    expiresAt: isoTime(run.expiresAt),
    input: decodedJson(inputOf(run), options),
    output: decodedJson(outputOf(run), options),
    error: decodedJson(errorOf(run), options),
  }
}

function decodedJson(decoded: Decoded | null, options: JsonOptions): Json {
  if (decoded === null) return null
  return 'value' in decoded ? toJson(decoded.value, options) : { unreadable: decoded.unreadable }
}
