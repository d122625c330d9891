import { describe, expect, it } from 'vitest'
import { findApp } from '../../src/cli/app.ts'
import { isPath, pathUrl } from '../../src/cli/module-url.ts'
import { defineWorkflow } from '../../src/index.ts'
import { memory } from '../../src/stores/memory/index.ts'

describe('pathUrl', () => {
  const windows = { cwd: 'C:\\a b', platform: 'win32' }
  const linux = { cwd: '/a b#%20', platform: 'linux' }

  it.each([
    ['C:\\a b\\w.js', windows, 'file:///C:/a%20b/w.js'],
    ['w#1%.js', windows, 'file:///C:/a%20b/w%231%25.js'],
    ['..\\x\\w.js', windows, 'file:///C:/x/w.js'],
    ['D:/w.js', windows, 'file:///D:/w.js'],
    ['\\\\server\\share\\a b\\w.js', windows, 'file://server/share/a%20b/w.js'],
    ['w.js', linux, 'file:///a%20b%23%2520/w.js'],
    ['./x/../w?.js', linux, 'file:///a%20b%23%2520/w%3F.js'],
    ['/w\\1.js', linux, 'file:///w%5C1.js'],
  ])('of %s', (path, place, url) => {
    expect(pathUrl(path, place)).toBe(url)
  })

  it('tells paths from names of packages', () => {
    for (const path of ['./a', '../a', '/a', '.', '..'])
      expect([path, isPath(path, linux)]).toEqual([path, true])
    for (const path of ['C:\\a', 'c:/a', '.\\a', '..\\a', '\\\\s\\a'])
      expect([path, isPath(path, windows)]).toEqual([path, true])
    for (const name of ['a', '@a/b', 'a.js', '.a', 'C:\\a'])
      expect([name, isPath(name, linux)]).toEqual([name, false])
  })
})

describe('findApp', () => {
  const [a, b, c] = ['a', 'b', 'c'].map((name) => defineWorkflow({ name }, () => name))
  const fn = (): number => 1

  it('finds workflows one by one, in lists, and in the default export; each once', () => {
    const { workflows } = findApp({ a, list: [b, a], default: c, other: 1 }, 'm')
    expect(workflows).toEqual([a, b, c])
    expect(findApp({ default: { workflows: [b], a } }, 'm').workflows).toEqual([b, a])
    expect(findApp({ default: [a, b] }, 'm').workflows).toEqual([a, b])
  })

  it('finds functions, the store and the options of the engine', () => {
    const store = memory()
    const app = findApp({ default: { workflows: [a], functions: { fn }, store, lease: '1s', other: 1 } }, 'm')
    expect(app).toEqual({ workflows: [a], functions: { fn }, store, options: { lease: '1s' } })
    expect(findApp({ functions: { fn }, store }, 'm')).toEqual({
      workflows: [],
      functions: { fn },
      store,
      options: {},
    })
  })

  it('refuses a module without anything to work with, and functions that are none', () => {
    expect(() => findApp({ answer: 42 }, 'm')).toThrow(/m exports no workflow \(it exports: answer\)/)
    expect(() => findApp({}, 'm')).toThrow(/it exports: nothing/)
    expect(() => findApp({ a, functions: { x: 1 } }, 'm')).toThrow(/"x", which is no function/)
  })
})
