/**
 * The vocabulary of the code: one meaning per type name, and no words of the project's former private dialect in identifiers and file names. The words to use
 * are in docs/glossary.md.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { expect, test } from 'vitest'

const roots = ['src', 'test', 'tools', 'bench']

/** Words that the former dialect used, with the word of the field. */
const replaced: Readonly<Record<string, string>> = {
  agenda: 'plan',
  arrival: 'event',
  arrivals: 'events',
  blueprint: 'definition',
  doors: 'assembly',
  errand: 'sync',
  fights: 'contention',
  goodbye: 'deletion',
  hall: 'worker',
  keeper: 'managed object, controller',
  kinship: 'children index',
  knob: 'setting',
  knobs: 'settings',
  ledger: 'handling state, records',
  nursery: 'child client',
  orchestra: 'orchestrator',
  parentage: 'owner key',
  rehearsal: 'test run',
  rhythm: 'schedule',
  sightings: 'seen states',
  spied: 'event handlers',
  spies: 'event handlers',
  spy: 'event handlers',
  tallies: 'aggregation',
  tally: 'aggregation',
  unkept: 'not persisted',
  wish: 'pending patch',
  wishes: 'pending patch',
  wishlist: 'pending patch',
  workshop: 'dev session',
}

/** `mostNamed`, `longestMs`: limits are called `maxNamed`, `maxMs`. */
const limits = /^(most|longest|shortest|least|largest)(?!WaitSeconds|General|Expensive|Severe|Objects)[A-Z]/

interface SourceFile {
  readonly path: string
  readonly code: string
}

const files: readonly SourceFile[] = roots.flatMap((root) =>
  readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter(
      (path) => /\.(tsx?|mjs)$/.test(path) && !/generated|node_modules|vocabulary\.test|docs\/language\.ts/.test(path),
    )
    .map((path) => ({ path: join(root, path), code: withoutTexts(readFileSync(join(root, path), 'utf8')) })),
)

/** The code without comments, strings and regular expressions, as far as a simple scan can tell them apart. */
function withoutTexts(text: string): string {
  return text
    .replaceAll(/\/\*[\s\S]*?\*\//g, '')
    .replaceAll(/'(?:[^'\\\n]|\\.)*'/g, "''")
    .replaceAll(/"(?:[^"\\\n]|\\.)*"/g, '""')
    .replaceAll(/`(?:[^`\\]|\\.)*`/g, '``')
    .replaceAll(/\/\/.*$/gm, '')
}

function wordsOf(name: string): string[] {
  return name
    .split(/[^A-Za-z]+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/)
    .filter((word) => word !== '')
    .map((word) => word.toLowerCase())
}

function identifiersOf(code: string): Set<string> {
  return new Set((code.match(/[A-Za-z_$][\w$]*/g) ?? []).filter((name) => name !== 'spyOn'))
}

test('the sources were found', () => {
  expect(files.length).toBeGreaterThan(1000)
})

test('a type name is declared in one file of src', () => {
  const declared = new Map<string, Set<string>>()
  for (const { path, code } of files) {
    if (!path.startsWith('src/') || path.endsWith('.test.ts')) continue
    const names = code.matchAll(/^(?:export )?(?:declare )?(?:abstract )?(?:interface|type|class|enum) (\w+)/gm)
    for (const [, name] of names) declared.set(name!, (declared.get(name!) ?? new Set()).add(path))
  }
  const twice = [...declared].filter(([, paths]) => paths.size > 1).map(([name, paths]) => `${name}: ${[...paths]}`)
  expect(twice).toEqual([])
})

test('identifiers use the words of the field', () => {
  const found = files.flatMap(({ path, code }) =>
    [...identifiersOf(code)].flatMap((name) => {
      const word = wordsOf(name).find((one) => Object.hasOwn(replaced, one))
      if (word !== undefined) return [`${path}: ${name} (${replaced[word]})`]
      return path.startsWith('src/') && limits.test(name) ? [`${path}: ${name} (max, min)`] : []
    }),
  )
  expect(found).toEqual([])
})

test('file names use the words of the field', () => {
  const found = files
    .map(({ path }) => path)
    .filter((path) => wordsOf(basename(path)).some((word) => Object.hasOwn(replaced, word)))
  expect(found).toEqual([])
})

test('the glossary has the word of the field for every replaced word, and not the replaced word', () => {
  const page = readFileSync(join('docs', 'glossary.md'), 'utf8')
  const terms = [...page.matchAll(/^\| \*\*([^|]*)\*\* /gm)].flatMap(([, cell]) => cell!.toLowerCase().split(', '))
  expect(terms.length).toBeGreaterThan(50)
  const missing = Object.entries(replaced).filter(
    ([, words]) => !words.split(', ').some((word) => terms.some((term) => isSameTerm(word, term))),
  )
  expect(missing).toEqual([])
  expect(wordsOf(page).filter((word) => Object.hasOwn(replaced, word))).toEqual([])
})

/** `events` is the term `event`, and "not persisted" is explained with `persisted`. */
function isSameTerm(word: string, term: string): boolean {
  return word === term || word === `${term}s` || word === `not ${term}`
}
