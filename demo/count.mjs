// An independent count of a folder's packages, to hold the audit against. It shares no code with packages.mjs and works
// otherwise: one list of all paths, and what a package is follows from the text of a path alone.

import { lstatSync, readdirSync } from 'node:fs'
import { basename, join } from 'node:path'

/**
 * @param {string} root
 * @returns {{ packages: string[], files: number, bytes: number }} package paths relative to `root`, sorted
 */
export function countPackages(root) {
  const paths = listFiles(root)
  const named = [...paths.keys()].map((path) => ({ path, owner: ownerOf(`${basename(root)}/${path}`) }))
  const prefix = basename(root).length + 1
  /** @type {Set<string>} */
  const packages = new Set()
  for (const { path, owner } of named) {
    if (owner !== null && `${owner.slice(prefix)}/package.json` === path) packages.add(owner.slice(prefix))
  }
  let files = 0
  let bytes = 0
  for (const { path, owner } of named) {
    const size = paths.get(path) ?? null
    if (owner === null || size === null || !packages.has(owner.slice(prefix))) continue
    files += 1
    bytes += size
  }
  return { packages: [...packages].sort(), files, bytes }
}

/**
 * The package that a file would belong to: what follows the last `node_modules` in its path.
 *
 * @param {string} path
 */
function ownerOf(path) {
  const match = /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?(?!node_modules\/)[^/@.][^/]*(?=\/)/s.exec(path)
  return match !== null && !path.slice(match[0].length).includes('/node_modules/') ? match[0] : null
}

/**
 * Every path below `root` that is not a folder, with its size if it is a file. Links are not followed.
 *
 * @param {string} root
 */
function listFiles(root) {
  /** @type {Map<string, number | null>} */
  const files = new Map()
  const folders = ['']
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    for (const entry of entriesIn(join(root, folder))) {
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`
      if (entry.isDirectory()) folders.push(path)
      else files.set(path, entry.isFile() ? sizeOf(join(root, path)) : null)
    }
  }
  return files
}

/** @param {string} folder */
function entriesIn(folder) {
  try {
    return readdirSync(folder, { withFileTypes: true })
  } catch {
    return []
  }
}

/** @param {string} path */
function sizeOf(path) {
  try {
    return lstatSync(path).size
  } catch {
    return 0
  }
}
