import type { EngineOptions, RegisteredFunction, Store, Workflow } from '../index.ts'
import { CliError } from './cli-error.ts'

/** What a module offers to work with. */
export interface App {
  readonly workflows: readonly Workflow[]
  readonly functions: Readonly<Record<string, RegisteredFunction>>
  readonly store: Store | null
  /** The other options of the engine. */
  readonly options: AppOptions
}

type AppOptions = Partial<
  Omit<EngineOptions, 'store' | 'workflows' | 'functions' | 'observer' | 'keepStoreOpen'>
>

const OPTION_NAMES = [
  'notifier',
  'log',
  'stepRetry',
  'retention',
  'maxValueBytes',
  'maxJournalEntries',
  'pollInterval',
  'lease',
  'hotRuns',
  'maxDeaths',
  'abortGrace',
] as const satisfies readonly (keyof AppOptions)[]

/** A message names at most so many exports. */
const MAX_NAMED = 10

/**
 * Finds what a module offers, among its exports and, if the default export is an object, in that one:
 *
 * - workflows: every export that is one, and those in lists
 * - `functions`: an object of functions that steps can call by name
 * - `store`: the store
 * - in the default export only: other options of `createEngine`, e.g. `lease`
 *
 * @throws CliError NO_WORKFLOWS if there is nothing to work with
 */
export function findApp(module: unknown, name: string): App {
  const named = isObject(module) ? module : {}
  const main = isObject(named['default']) && !isWorkflow(named['default']) ? named['default'] : {}
  const app = {
    workflows: [...new Set([...workflowsIn(Object.values(named)), ...workflowsIn(Object.values(main))])],
    functions: { ...functionsIn(main, name), ...functionsIn(named, name) },
    store: [named['store'], main['store']].find(isStore) ?? null,
    options: optionsIn(main),
  }
  if (app.workflows.length > 0 || Object.keys(app.functions).length > 0) return app
  const exported = Object.keys(named).slice(0, MAX_NAMED).join(', ') || 'nothing'
  throw new CliError(
    'NO_WORKFLOWS',
    `${name} exports no workflow (it exports: ${exported}). Export what defineWorkflow returns, one by one or in a ` +
      'list, or `export default { workflows, functions, store }`.',
  )
}

function workflowsIn(values: readonly unknown[]): Workflow[] {
  return values.flatMap((value) => (Array.isArray(value) ? value : [value])).filter(isWorkflow)
}

function functionsIn(
  object: Readonly<Record<string, unknown>>,
  name: string,
): Record<string, RegisteredFunction> {
  const functions = object['functions']
  // An array or a function of that name is something else of the module's own.
  if (!isObject(functions) || Array.isArray(functions)) return {}
  const wrong = Object.entries(functions).find(([, value]) => typeof value !== 'function')
  if (wrong === undefined) return functions as Record<string, RegisteredFunction>
  throw new CliError(
    'NO_WORKFLOWS',
    `${name}: the export \`functions\` holds "${wrong[0]}", which is no function.`,
  )
}

/** The engine checks them. */
function optionsIn(object: Readonly<Record<string, unknown>>): AppOptions {
  const present = OPTION_NAMES.filter((option) => object[option] !== undefined)
  return Object.fromEntries(present.map((option) => [option, object[option]]))
}

/** By its shape: the module may use another copy of the package. */
function isWorkflow(value: unknown): value is Workflow {
  if (!isObject(value)) return false
  const { name, version, call, keyOf } = value
  return [name, version].every((text) => typeof text === 'string') && [call, keyOf].every(isFunction)
}

function isStore(value: unknown): value is Store {
  return (
    isObject(value) && [value['claim'], value['commit'], value['migrate'], value['close']].every(isFunction)
  )
}

function isFunction(value: unknown): boolean {
  return typeof value === 'function'
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}
