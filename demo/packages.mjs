// What the steps do on disk. Nothing here knows of workflows. What cannot be read is told, not thrown: an audit
// that stops at the first odd file is of no use.
//
// A package is a folder (not a link to one) directly in a `node_modules` folder, or in an `@scope` folder in one,
// that holds a package.json. Its files are all below it, except what is in a further `node_modules` folder.

import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { lstat, readdir, readFile, readlink } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { createGzip } from 'node:zlib'
import { declaredLicence } from './licences.mjs'

/** A part is so much of a package as one step compresses: well under a second of work. */
const PART_BYTES = 4 * 1024 * 1024
/** What is kept of a licence text, and how many unreadable files are named. */
const MAX_TEXT = 20_000
const MAX_NAMED = 10

/**
 * The packages below `root`, as sorted paths relative to it, with `/`.
 *
 * @param {string} root
 */
export async function findPackages(root) {
  /** @type {string[]} */
  const found = []
  /** @type {(path: string, kind: 'folder' | 'modules' | 'scope') => Promise<void>} */
  const walk = async (path, kind) => {
    const { entries } = await list(join(root, path))
    for (const { name } of entries.filter((entry) => entry.isDirectory())) {
      const child = path === '' ? name : `${path}/${name}`
      if (kind === 'modules' && name.startsWith('@')) await walk(child, 'scope')
      else {
        const isCandidate = kind !== 'folder' && !/^([.@]|node_modules$)/.test(name)
        if (isCandidate && (await hasManifest(join(root, child)))) found.push(child)
        await walk(child, name === 'node_modules' ? 'modules' : 'folder')
      }
    }
  }
  await walk('', basename(root) === 'node_modules' ? 'modules' : 'folder')
  return found.sort()
}

/** @param {string} folder */
async function hasManifest(folder) {
  const manifest = await lstat(join(folder, 'package.json')).catch(() => null)
  return manifest !== null && !manifest.isDirectory()
}

/**
 * What the audit needs of a package.json; `null` where it does not say.
 *
 * @param {string} folder
 * @returns {Promise<{ name: string | null, version: string | null, licence: string | null }>}
 */
export async function readManifest(folder) {
  try {
    const path = join(folder, 'package.json')
    if (!(await lstat(path)).isFile()) throw new Error('not a file')
    const manifest = JSON.parse(await readFile(path, 'utf8'))
    return {
      name: typeof manifest.name === 'string' ? manifest.name : null,
      version: typeof manifest.version === 'string' ? manifest.version : null,
      licence: declaredLicence(manifest),
    }
  } catch {
    return { name: null, version: null, licence: null }
  }
}

/**
 * One hash of all files: of their sorted relative paths and their contents; of a link, its target.
 *
 * @param {string} folder
 */
export async function hashFiles(folder) {
  const hash = createHash('sha256')
  const { files, unreadable } = await filesOf(folder)
  let count = 0
  let bytes = 0
  for (const { path, kind, size } of files) {
    hash.update(`${kind} ${path}\0${size}\0`)
    if (kind === 'file') {
      count += 1
      bytes += size
    }
    try {
      if (kind === 'link') hash.update(await readlink(join(folder, path)))
      if (kind === 'file') for await (const chunk of contents(folder, path)) hash.update(chunk)
    } catch (error) {
      unreadable.push(`${path}: ${codeOf(error)}`)
    }
  }
  const named = { count: unreadable.length, first: unreadable.slice(0, MAX_NAMED) }
  return { sha256: hash.digest('hex'), files: count, bytes, unreadable: named }
}

/**
 * How many parts a package of this size has.
 *
 * @param {number} bytes
 */
export function partCount(bytes) {
  return Math.ceil(bytes / PART_BYTES)
}

/**
 * How small a part of a package becomes in a download. The files in their order are taken for one stream of bytes, of
 * which part n begins at n times the size of a part.
 *
 * @param {string} folder
 * @param {number} part
 */
export async function compressPart(folder, part) {
  const gzip = createGzip()
  let size = 0
  gzip.on('data', (chunk) => {
    size += chunk.length
  })
  const ended = new Promise((resolve, reject) => gzip.on('end', resolve).on('error', reject))
  for await (const chunk of streamOf(folder, part * PART_BYTES, (part + 1) * PART_BYTES)) {
    if (!gzip.write(chunk)) await new Promise((resolve) => gzip.once('drain', resolve))
  }
  gzip.end()
  await ended
  return size
}

/**
 * The bytes from `from` to before `to` of all files of a package, one after the other.
 *
 * @param {string} folder
 * @param {number} from
 * @param {number} to
 */
async function* streamOf(folder, from, to) {
  let position = 0
  for (const { path, kind, size } of (await filesOf(folder)).files) {
    if (kind !== 'file') continue
    const start = Math.max(0, from - position)
    const end = Math.min(size, to - position)
    position += size
    if (start >= end) continue
    try {
      yield* contents(folder, path, { start, end: end - 1 })
    } catch {
      // `hashFiles` has told of it.
    }
  }
}

/**
 * The text of the licence file, or `null` if there is none.
 *
 * @param {string} folder
 * @returns {Promise<string | null>}
 */
export async function findLicenceText(folder) {
  const { entries } = await list(folder)
  const names = entries
    .filter((entry) => entry.isFile() && /^(un)?licen[cs]e|^copying/i.test(entry.name))
    .map((entry) => entry.name)
    // The plain name first: LICENSE before LICENSE-APACHE and LICENSE.third-party.txt.
    .sort((a, b) => a.length - b.length || (a < b ? -1 : 1))
  for (const name of names) {
    const text = await readFile(join(folder, name), 'utf8').catch(() => '')
    if (text.trim() !== '') return text.slice(0, MAX_TEXT)
  }
  return null
}

/** @typedef {{ path: string, kind: 'file' | 'link' | 'other', size: number }} PackageFile */

/**
 * The files of a package, sorted by their paths relative to it.
 *
 * @param {string} folder
 */
async function filesOf(folder) {
  /** @type {PackageFile[]} */
  const files = []
  /** @type {string[]} */
  const unreadable = []
  /** @param {string} path */
  const walk = async (path) => {
    const { entries, problem } = await list(join(folder, path))
    if (problem !== null) unreadable.push(`${path || '.'}: ${problem}`)
    for (const entry of entries) {
      const child = path === '' ? entry.name : `${path}/${entry.name}`
      if (entry.isDirectory()) {
        if (entry.name !== 'node_modules') await walk(child)
      } else {
        const kind = entry.isFile() ? 'file' : entry.isSymbolicLink() ? 'link' : 'other'
        const size = kind === 'file' ? await sizeOf(join(folder, child)) : 0
        files.push({ path: child, kind, size })
      }
    }
  }
  await walk('')
  // By code units: the order of a language would differ from machine to machine, and the hash with it.
  files.sort((a, b) => (a.path < b.path ? -1 : 1))
  return { files, unreadable }
}

/** @param {string} path */
async function sizeOf(path) {
  return await lstat(path).then(
    ({ size }) => size,
    () => 0,
  )
}

/** @param {string} folder */
async function list(folder) {
  try {
    return { entries: await readdir(folder, { withFileTypes: true }), problem: null }
  } catch (error) {
    return { entries: [], problem: codeOf(error) }
  }
}

/**
 * @param {string} folder
 * @param {string} path
 * @param {{ start?: number, end?: number }} [range]
 */
function contents(folder, path, range = {}) {
  return createReadStream(join(folder, path), { ...range, highWaterMark: 256 * 1024 })
}

/** @param {unknown} error */
function codeOf(error) {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error)
}
