import { readdirSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import ts from 'typescript'

/** A source file: its path from the root of the repository, with forward slashes, and its text. */
export interface Source {
  readonly path: string
  readonly text: string
}

/** An import, export-from, `import()` or `import('…')` type in a source file. */
export interface Import {
  readonly from: string
  readonly line: number
  readonly specifier: string
  /** The path of the imported source file, or undefined if the import is of a package. */
  readonly target: string | undefined
}

/** All TypeScript files under `src`, tests excepted: a test may reach across layers. */
export function readSources(root: string): Source[] {
  return readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
    .map((name) => posix.join('src', name.replaceAll('\\', '/')))
    .filter((path) => path.endsWith('.ts') && !path.endsWith('.test.ts'))
    .sort()
    .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }))
}

/** The first folder under `src`: `src/core/run.ts` is in `core`, `src/index.ts` is in `index.ts`. */
export function layerOf(path: string): string {
  return path.split('/')[1] ?? path
}

/** The package that an import names, without a path inside it, or undefined for a relative import. */
export function packageOf(specifier: string): string | undefined {
  if (specifier.startsWith('.')) return undefined
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/')
}

export function parse(source: Source): ts.SourceFile {
  return ts.createSourceFile(source.path, source.text, ts.ScriptTarget.ES2023, true)
}

export function lineOf(node: ts.Node): number {
  const file = node.getSourceFile()
  return file.getLineAndCharacterOfPosition(node.getStart(file)).line + 1
}

/** Calls `visit` for every node below `node`; where it returns `'skip'`, the node's children are left out. */
export function walk(node: ts.Node, visit: (node: ts.Node) => 'skip' | undefined): void {
  ts.forEachChild(node, (child) => {
    if (visit(child) !== 'skip') walk(child, visit)
  })
}

export function importsOf(source: Source): Import[] {
  const imports: Import[] = []
  walk(parse(source), (node) => {
    const specifier = specifierOf(node)
    if (specifier !== undefined) {
      const isRelative = specifier.startsWith('.')
      const target = isRelative ? posix.join(posix.dirname(source.path), specifier) : undefined
      imports.push({ from: source.path, line: lineOf(node), specifier, target })
    }
    return undefined
  })
  return imports
}

function specifierOf(node: ts.Node): string | undefined {
  if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) return textOf(node.moduleSpecifier)
  if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
    return textOf(node.arguments[0])
  }
  if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) return textOf(node.argument.literal)
  return undefined
}

function textOf(node: ts.Node | undefined): string | undefined {
  return node && ts.isStringLiteralLike(node) ? node.text : undefined
}
