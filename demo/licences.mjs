// Which licence a package has: what its package.json declares, what its licence text is, and whether the two agree.
// Pure functions of values.

/**
 * How licence texts are recognised: each names a phrase that only its text has. Where one text contains the phrase of
 * another, `unless` tells them apart.
 *
 * @type {readonly { id: string, phrase: RegExp, unless?: RegExp }[]}
 */
const TEXTS = [
  {
    id: 'MIT',
    phrase: /permission is hereby granted, free of charge, to any person obtaining a copy/,
    unless:
      /^(?!.*(the above copyright notice and this permission notice|this permission notice shall be included))/,
  },
  {
    id: 'MIT-0',
    phrase: /permission is hereby granted, free of charge, to any person obtaining a copy/,
    unless:
      /(the above copyright notice and this permission notice|this permission notice shall be included)/,
  },
  {
    id: 'ISC',
    phrase: /permission to use, copy, modify, and(\/or)? distribute this software for any purpose/,
    unless: /^(?!.*provided that the above copyright notice)/,
  },
  {
    id: '0BSD',
    phrase: /permission to use, copy, modify, and(\/or)? distribute this software for any purpose/,
    unless: /provided that the above copyright notice/,
  },
  { id: 'Apache-2.0', phrase: /apache license,? version 2\.0/ },
  {
    id: 'BSD-3-Clause',
    phrase: /redistributions of source code must retain/,
    unless: /^(?!.*(neither the names? of|may not be used to endorse or promote))/,
  },
  {
    id: 'BSD-2-Clause',
    phrase: /redistributions of source code must retain/,
    unless: /(neither the names? of|may not be used to endorse or promote)/,
  },
  { id: 'MPL-2.0', phrase: /mozilla public license,? (version|v\.) ?2\.0/ },
  { id: 'BlueOak-1.0.0', phrase: /blue oak model license/ },
  { id: 'CC0-1.0', phrase: /cc0 1\.0 universal/ },
  { id: 'CC-BY-4.0', phrase: /creative commons attribution 4\.0 international/ },
  { id: 'Unlicense', phrase: /this is free and unencumbered software released into the public domain/ },
  { id: 'Zlib', phrase: /the origin of this software must not be misrepresented/ },
  { id: 'Python-2.0', phrase: /python software foundation license version 2/ },
  { id: 'BSL-1.0', phrase: /boost software license - version 1\.0/ },
  { id: 'WTFPL', phrase: /do what the fuck you want to public license/ },
  { id: 'AGPL-3.0', phrase: /gnu affero general public license,? version 3/ },
  { id: 'LGPL-3.0', phrase: /gnu lesser general public license,? version 3/ },
  { id: 'LGPL-2.1', phrase: /gnu lesser general public license,? version 2\.1/ },
  { id: 'GPL-3.0', phrase: /gnu general public license,? version 3/ },
  { id: 'GPL-2.0', phrase: /gnu general public license,? version 2/ },
]

/** Names that are in use and are not SPDX identifiers. */
const ALIASES = new Map([
  ['apache 2.0', 'Apache-2.0'],
  ['apache license 2.0', 'Apache-2.0'],
  ['apache license, version 2.0', 'Apache-2.0'],
  ['apache2', 'Apache-2.0'],
  ['bsd 3-clause', 'BSD-3-Clause'],
  ['bsd 2-clause', 'BSD-2-Clause'],
  ['mit license', 'MIT'],
  ['the mit license', 'MIT'],
  ['mit/x11', 'MIT'],
])

/**
 * The licence that a package.json declares, as an SPDX expression: from `license`, or the old forms `{ type }` and
 * `licenses: [...]`.
 *
 * @param {unknown} manifest
 * @returns {string | null}
 */
export function declaredLicence(manifest) {
  if (typeof manifest !== 'object' || manifest === null) return null
  const { license, licenses } = /** @type {{ license?: unknown, licenses?: unknown }} */ (manifest)
  const named = [license, licenses].flat().flatMap((value) => nameOf(value) ?? [])
  const unique = [...new Set(named)]
  if (unique.length === 0) return null
  return unique.length === 1 ? (unique[0] ?? null) : `(${unique.join(' OR ')})`
}

/**
 * @param {unknown} value
 * @returns {string | null}
 */
function nameOf(value) {
  if (typeof value === 'object' && value !== null && 'type' in value) return nameOf(value.type)
  if (typeof value !== 'string' || value.trim() === '') return null
  const name = value.trim().slice(0, 200)
  return ALIASES.get(name.toLowerCase()) ?? name
}

/**
 * The licence whose text this is, or whose text comes first where there are several: what follows is often that of
 * bundled code.
 *
 * @param {string} text
 * @returns {string | null}
 */
export function licenceOfText(text) {
  const plain = text.toLowerCase().replace(/[\s*#>]+/g, ' ')
  let first = { id: /** @type {string | null} */ (null), at: Number.POSITIVE_INFINITY }
  for (const { id, phrase, unless } of TEXTS) {
    const at = plain.search(phrase)
    if (at >= 0 && at < first.at && unless?.test(plain) !== true) first = { id, at }
  }
  return first.id
}

/**
 * @typedef {'agree' | 'differ' | 'declared only' | 'text only' | 'unrecognised text' | 'unknown'} Verdict
 * `unrecognised text`: there is one, and it is none that we know.
 */

/**
 * @param {string | null} declared
 * @param {string | null} text
 * @returns {{ licence: string, declared: string | null, ofText: string | null, verdict: Verdict }}
 */
export function classifyLicence(declared, text) {
  const ofText = text === null ? null : licenceOfText(text)
  const licence = declared ?? ofText ?? 'unknown'
  return { licence, declared, ofText, verdict: verdictOf(declared, text, ofText) }
}

/**
 * @param {string | null} declared
 * @param {string | null} text
 * @param {string | null} ofText
 * @returns {Verdict}
 */
function verdictOf(declared, text, ofText) {
  if (declared === null) return ofText === null ? 'unknown' : 'text only'
  if (text === null) return 'declared only'
  if (ofText === null) return 'unrecognised text'
  return licencesIn(declared).some((id) => isSame(id, ofText)) ? 'agree' : 'differ'
}

/**
 * The identifiers in an SPDX expression.
 *
 * @param {string} expression
 */
function licencesIn(expression) {
  return expression
    .split(/[()]|\s+(?:or|and|with)\s+/i)
    .map((id) => id.trim().replace(/(-only|-or-later|\+)$/i, ''))
    .filter((id) => id !== '')
}

/**
 * @param {string} declared
 * @param {string} ofText
 */
function isSame(declared, ofText) {
  const [one, other] = [declared.toLowerCase(), ofText.toLowerCase()]
  // "BSD" alone is in use, and means any of the family.
  return one === other || (one === 'bsd' && other.startsWith('bsd-'))
}
