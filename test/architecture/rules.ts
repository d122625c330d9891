import { isBuiltin } from 'node:module'
import ts from 'typescript'
import { type Import, importsOf, layerOf, lineOf, packageOf, parse, type Source, walk } from './sources.ts'

// Every rule is a function of the files, and returns one sentence per violation: so a test can show that it fails.

/** What a layer may import of `src`; a layer that is not named here may import everything but `testing`. */
const ALLOWED_LAYERS: Readonly<Record<string, readonly string[]>> = {
  core: ['core'],
  ports: ['core', 'ports'],
  // A store may bring the notifier of its database along.
  stores: ['core', 'ports', 'stores', 'notifiers'],
  notifiers: ['core', 'ports', 'notifiers'],
  // What stands beside the engine goes by its public names.
  queues: ['core', 'ports', 'queues', 'index.ts'],
  runner: ['runner', 'queues', 'index.ts'],
  // Drives runs itself, under the engine's lease and by its clock.
  pikku: ['core', 'ports', 'engine', 'pikku'],
}

/** What a layer may not import although it has no list of its own. */
const FORBIDDEN_LAYERS: Readonly<Record<string, readonly string[]>> = {
  engine: ['stores', 'notifiers', 'queues', 'runner', 'pikku', 'http', 'cli', 'index.ts'],
}

/** The packages that a layer may import; a layer that is not named here may import every declared one. */
const ALLOWED_PACKAGES: Readonly<Record<string, readonly string[]>> = {
  core: ['devalue'],
  ports: [],
}

export function layerViolations(sources: readonly Source[]): string[] {
  return sources.flatMap(importsOf).flatMap((item) => {
    if (item.target === undefined) return []
    const from = layerOf(item.from)
    const to = layerOf(item.target)
    const isOutsideSrc = !item.target.startsWith('src/')
    const isRefused =
      (to === 'testing' && from !== 'testing') ||
      ALLOWED_LAYERS[from]?.includes(to) === false ||
      FORBIDDEN_LAYERS[from]?.includes(to) === true
    if (isOutsideSrc && !item.target.endsWith('package.json')) return [`${at(item)} imports from outside src`]
    return isRefused ? [`${at(item)} "${from}" must not import "${to}"`] : []
  })
}

export function packageViolations(sources: readonly Source[]): string[] {
  return sources.flatMap(importsOf).flatMap((item) => {
    const name = packageOf(item.specifier)
    const allowed = ALLOWED_PACKAGES[layerOf(item.from)]
    if (name === undefined || allowed === undefined || allowed.includes(name)) return []
    return [`${at(item)} "${layerOf(item.from)}" must not import the package`]
  })
}

/** A pure library is wrapped by one file of the core, so that it can be replaced in one place. */
export function scatteredPackages(sources: readonly Source[]): string[] {
  const users = new Map<string, Set<string>>()
  for (const item of sources.flatMap(importsOf)) {
    const name = packageOf(item.specifier)
    if (name === undefined || layerOf(item.from) !== 'core') continue
    users.set(name, (users.get(name) ?? new Set()).add(item.from))
  }
  return [...users].flatMap(([name, files]) =>
    files.size > 1 ? [`core imports "${name}" in more than one file: ${[...files].join(', ')}`] : [],
  )
}

export interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
  readonly exports?: unknown
  readonly bin?: unknown
}

export function undeclaredPackages(sources: readonly Source[], manifest: Manifest): string[] {
  const { dependencies, optionalDependencies, peerDependencies } = manifest
  const declared = new Set(Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies }))
  return sources.flatMap(importsOf).flatMap((item) => {
    const name = packageOf(item.specifier)
    if (name === undefined || isBuiltin(item.specifier) || declared.has(name)) return []
    return [`${at(item)} "${name}" is not declared in package.json`]
  })
}

/** The files named by `exports` and `bin` that do not exist. */
export function missingExports(manifest: Manifest, exists: (path: string) => boolean): string[] {
  return [...stringsIn(manifest.exports), ...stringsIn(manifest.bin)]
    .filter((path) => !exists(path))
    .map((path) => `package.json names ${path}, which does not exist`)
}

/** Type-only imports count: two files that need each other's types are one idea in two places. */
export function importCycles(sources: readonly Source[]): string[] {
  const graph = new Map(
    sources.map((source) => [source.path, importsOf(source).flatMap(({ target }) => target ?? [])] as const),
  )
  const cycles: string[] = []
  const finished = new Set<string>()
  const visit = (path: string, trail: readonly string[]): void => {
    const start = trail.indexOf(path)
    if (start >= 0) cycles.push(`import cycle: ${[...trail.slice(start), path].join(' → ')}`)
    if (start >= 0 || finished.has(path)) return
    for (const target of graph.get(path) ?? []) visit(target, [...trail, path])
    finished.add(path)
  }
  for (const path of graph.keys()) visit(path, [])
  return [...new Set(cycles)]
}

export function anyTypes(sources: readonly Source[]): string[] {
  return findNodes(sources, (node) => (node.kind === ts.SyntaxKind.AnyKeyword ? 'the type any' : undefined))
}

/** Clocks, randomness, timers, the process and I/O reach the core as arguments, never as globals. */
export function impureCore(sources: readonly Source[]): string[] {
  return sources
    .filter((source) => layerOf(source.path) === 'core')
    .flatMap((source) => {
      const declared = declaredNames(source)
      return findNodes([source], (node) => {
        if (isTypeOnly(node)) return 'skip'
        if (!ts.isIdentifier(node) || !isReference(node) || declared.has(node.text)) return undefined
        return isImpure(node) ? `the core must not use ${impureName(node)}` : undefined
      })
    })
}

export function filesLongerThan(limit: number, sources: readonly Source[]): string[] {
  return sources.flatMap(({ path, text }) => {
    const lines = text.replace(/\n$/, '').split('\n').length
    return lines > limit ? [`${path} has ${lines} lines, more than ${limit}`] : []
  })
}

const IMPURE_GLOBALS: ReadonlySet<string> = new Set([
  ...['process', 'globalThis', 'console', 'performance', 'crypto', 'fetch'],
  ...['setTimeout', 'setInterval', 'setImmediate', 'queueMicrotask'],
])

function isImpure(node: ts.Identifier): boolean {
  const { parent, text } = node
  // `value instanceof Date` asks what a value is; it reads no clock.
  if (text === 'Date') return !(ts.isBinaryExpression(parent) && isInstanceOf(parent))
  if (text === 'Math') return !ts.isPropertyAccessExpression(parent) || parent.name.text === 'random'
  return IMPURE_GLOBALS.has(text)
}

function isInstanceOf(node: ts.BinaryExpression): boolean {
  return node.operatorToken.kind === ts.SyntaxKind.InstanceOfKeyword
}

function impureName(node: ts.Identifier): string {
  const { parent } = node
  return ts.isPropertyAccessExpression(parent) || ts.isNewExpression(parent) ? parent.getText() : node.text
}

/** False where an identifier only names a member, a key or a label: `a.process`, `{ process: 1 }`. */
function isReference(node: ts.Identifier): boolean {
  const { parent } = node
  if (ts.isPropertyAccessExpression(parent)) return parent.expression === node
  if (ts.isPropertyAssignment(parent)) return parent.initializer === node
  if (ts.isBindingElement(parent)) return parent.initializer === node
  return !(ts.isMethodDeclaration(parent) || ts.isPropertyDeclaration(parent) || ts.isAccessor(parent))
}

function isTypeOnly(node: ts.Node): boolean {
  if (ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node)) return true
  if (ts.isHeritageClause(node)) return node.token === ts.SyntaxKind.ImplementsKeyword
  return ts.isTypeNode(node) && !ts.isExpressionWithTypeArguments(node)
}

/** Names that the file declares or imports itself: these are not the globals of that name. */
function declaredNames(source: Source): Set<string> {
  const names = new Set<string>()
  walk(parse(source), (node) => {
    const isDeclaration =
      ts.isVariableDeclaration(node) ||
      ts.isParameter(node) ||
      ts.isBindingElement(node) ||
      ts.isFunctionDeclaration(node) ||
      ts.isClassDeclaration(node) ||
      ts.isImportSpecifier(node)
    // A parameter of a function type declares nothing that code could use.
    if (isTypeOnly(node)) return 'skip'
    if (isDeclaration && node.name && ts.isIdentifier(node.name)) names.add(node.name.text)
    return undefined
  })
  return names
}

function findNodes(sources: readonly Source[], find: (node: ts.Node) => string | undefined): string[] {
  return sources.flatMap((source) => {
    const found: string[] = []
    walk(parse(source), (node) => {
      const message = find(node)
      if (message === 'skip') return 'skip'
      if (message !== undefined) found.push(`${source.path}:${lineOf(node)} ${message}`)
      return undefined
    })
    return found
  })
}

function stringsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(stringsIn) : []
}

function at(item: Import): string {
  return `${item.from}:${item.line} (${item.specifier})`
}
