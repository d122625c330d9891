// Lets Node versions that cannot run TypeScript load the examples; see run.mjs.

import { readFile } from 'node:fs/promises'
import ts from 'typescript'

const compilerOptions = {
  module: ts.ModuleKind.ESNext,
  target: ts.ScriptTarget.ES2023,
  verbatimModuleSyntax: true,
  inlineSourceMap: true,
}

/** @type {import('node:module').LoadHook} */
export async function load(url, context, nextLoad) {
  if (!url.endsWith('.ts')) return nextLoad(url, context)
  const text = await readFile(new URL(url), 'utf8')
  const source = ts.transpileModule(text, { fileName: url, compilerOptions }).outputText
  return { format: 'module', source, shortCircuit: true }
}
