// `npm run example` lists the examples, `npm run example order-saga` runs one, `npm run example all` all of them.
// This file uses nothing but Node: on a fresh clone it installs and builds what is missing first.

import { readdirSync, readFileSync } from 'node:fs'
import { register } from 'node:module'
import { bootstrap } from '../scripts/bootstrap.mjs'

const names = readdirSync(import.meta.dirname)
  .filter((file) => file.endsWith('.ts'))
  .map((file) => file.slice(0, -'.ts'.length))

const [wanted] = process.argv.slice(2)
if (wanted === undefined) list()
else if (wanted === 'all' || names.includes(wanted)) await run(wanted === 'all' ? names : [wanted])
else {
  console.error(`There is no example "${wanted}".`)
  list()
  process.exitCode = 1
}

function list() {
  const width = Math.max(...names.map((name) => name.length))
  console.log('npm run example <name>, or all:\n')
  for (const name of names) console.log(`  ${name.padEnd(width)}  ${summaryOf(name)}`)
}

/** The comment with which an example begins. */
function summaryOf(/** @type {string} */ name) {
  const text = readFileSync(new URL(`${name}.ts`, import.meta.url), 'utf8')
  const lines = /^(?:\/\/ .*\n)+/.exec(text)?.[0] ?? ''
  return lines.replaceAll(/\n?\/\/ /g, ' ').trim()
}

async function run(/** @type {readonly string[]} */ chosen) {
  bootstrap()
  // Newer versions of Node run TypeScript as it is.
  const isNative = Boolean(Reflect.get(process.features, 'typescript'))
  if (!isNative) register('./support/typescript-hooks.mjs', import.meta.url)
  for (const name of chosen) {
    console.log(`── ${name}`)
    const { main } = await import(`./${name}.ts`)
    await main()
  }
}
