/** What users see in their editor: hovers, completions and errors, in the language services of TypeScript 5.9 and 7. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Editor, editors, type Hover } from './editor.ts'

const preamble = `
import { defineResource, Operator } from 'kopf'
import { z } from 'zod'

const kopf = new Operator()
const Database = defineResource({
  group: 'example.com',
  version: 'v1',
  kind: 'Database',
  spec: z.object({
    size: z.number(),
    users: z.array(z.string()),
    storage: z.object({ class: z.string(), gigabytes: z.number() }).optional(),
  }),
  status: z.object({ phase: z.string().optional() }),
})
`

/** How each handler type is registered: the call up to its function, and after it. */
const calls: Readonly<Record<string, readonly [before: string, after: string, words: string]>> = {
  'on.create': ['kopf.on.«call»create(Database, ', ')', 'Called once for each new object'],
  'on.create with options': ['kopf.on.«call»create(Database, { retries: 3 }, ', ')', 'that the filters in the options'],
  'on.update': ['kopf.on.«call»update(Database, ', ')', 'Called when an object changes'],
  'on.update with options': ["kopf.on.«call»update(Database, { field: 'spec' }, ", ')', 'only when that field changes'],
  'on.delete': ['kopf.on.«call»delete(Database, ', ')', 'Called when the object is deleted'],
  'on.resume': ['kopf.on.«call»resume(Database, ', ')', 'Called once for each existing object'],
  'on.field': ["kopf.on.«call»field(Database, 'spec.size', ", ')', 'Called when one field is added'],
  'on.event': ['kopf.on.«call»event(Database, ', ')', 'Called for every watch event'],
  'on.validate': ['kopf.on.«call»validate(Database, ', ')', 'A validating admission webhook'],
  'on.mutate': ['kopf.on.«call»mutate(Database, ', ')', 'A mutating admission webhook'],
  'on.convert': [
    "kopf.on.«call»convert(Database, { from: Database, to: 'v2' }, ",
    ')',
    'A conversion webhook: called when the API server',
  ],
  'on.startup': ['kopf.on.«call»startup(', ')', 'Called when the operator starts'],
  'on.cleanup': ['kopf.on.«call»cleanup(', ')', 'Called when the operator stops'],
  'on.login': ['kopf.on.«call»login(', ')', 'Called when the operator needs credentials'],
  'on.probe': ['kopf.on.«call»probe(', ')', 'Called when the liveness endpoint is requested'],
  daemon: ['kopf.«call»daemon(Database, ', ')', 'Registers a daemon'],
  timer: ["kopf.«call»timer(Database, { interval: '5m' }, ", ')', 'Registers a timer'],
  reconcile: ['kopf.«call»reconcile(Database, ', ')', 'Registers a reconciler'],
  'reconcile with options': [
    "kopf.«call»reconcile(Database, { owns: ['pods'] }, ",
    ')',
    'returns the desired children',
  ],
  index: ['kopf.«call»index(Database, ', ')', 'Registers an indexing function'],
}

/** Calls whose options are completed. */
const options: Readonly<Record<string, readonly [before: string, after: string]>> = {
  'on.create': ['kopf.on.create(Database, { ', ' }, () => {})'],
  'on.update': ['kopf.on.update(Database, { ', ' }, () => {})'],
  'on.delete': ['kopf.on.delete(Database, { ', ' }, () => {})'],
  'on.resume': ['kopf.on.resume(Database, { ', ' }, () => {})'],
  'on.field': ["kopf.on.field(Database, 'spec.size', { ", ' }, () => {})'],
  'on.event': ['kopf.on.event(Database, { ', ' }, () => {})'],
  'on.validate': ['kopf.on.validate(Database, { ', ' }, () => {})'],
  'on.convert': ['kopf.on.convert(Database, { ', ' }, () => ({}))'],
  'on.startup': ['kopf.on.startup({ ', ' }, () => {})'],
  daemon: ['kopf.daemon(Database, { ', ' }, () => {})'],
  timer: ["kopf.timer(Database, { interval: '1m', ", ' }, () => {})'],
  reconcile: ['kopf.reconcile(Database, { ', ' }, () => {})'],
  index: ['kopf.index(Database, { ', ' }, () => 1)'],
  defineResource: ["defineResource({ group: 'example.com', version: 'v1', kind: 'Other', ", ' })'],
  'new Operator': ['new Operator({ ', ' })'],
  'kopf.start': ['kopf.start({ ', ' })'],
}

function isDocumented({ documentation }: Hover): boolean {
  return /\w+ .*\./s.test(documentation)
}

function isShort({ type }: Hover): boolean {
  return !type.includes('Zod') && type.split('\n').length <= 40
}

describe.each(Object.entries(editors))('an editor with %s', (_, start) => {
  let editor: Editor

  beforeAll(async () => {
    editor = await start()
  }, 120_000)

  afterAll(() => editor[Symbol.asyncDispose]())

  test.each(Object.entries(calls))(
    'documents the call %s, with short types',
    async (_call, [before, after, words]) => {
      await editor.open(`${preamble}${before}() => ({})${after}`)
      const hover = await editor.hover('call')
      expect(hover.documentation.replaceAll(/\s+/g, ' ')).toContain(words)
      expect(hover).toSatisfy(isShort)
    },
    60_000,
  )

  test.each(Object.entries(calls))(
    'documents every argument of %s, and completes no internals',
    async (_call, [before, after]) => {
      await editor.open(`${preamble}${before}({ «args» }) => ({})${after}`)
      const names = await editor.completions('args')
      expect(names).toContain('logger')
      expect(names.filter((name) => !/^[a-z]+$/.test(name))).toEqual([])
      const taken = names.map((name) => `«${name}»${name}${name === 'new' ? ': current' : ''}`).join(', ')
      await editor.open(`${preamble}${before}({ ${taken} }) => ({})${after}`)
      const hovers = await Promise.all(names.map(async (name) => [name, await editor.hover(name)] as const))
      expect(hovers.filter(([, hover]) => !isDocumented(hover))).toEqual([])
      expect(hovers.filter(([, hover]) => !isShort(hover))).toEqual([])
    },
    60_000,
  )

  test.each(Object.entries(options))(
    'documents every option of %s',
    async (_call, [before, after]) => {
      await editor.open(`${preamble}${before}«options»${after}`)
      const names = await editor.completions('options')
      expect(names.length).toBeGreaterThan(1)
      const undocumented: string[] = []
      for (const name of names) {
        await editor.open(`${preamble}${before}«option»${name}: undefined as any${after}`)
        if (!isDocumented(await editor.hover('option'))) undocumented.push(name)
      }
      expect(undocumented).toEqual([])
    },
    60_000,
  )

  test('shows the types of the schemas for an object', async () => {
    await editor.open(
      `${preamble}kopf.on.create(Database, ({ «spec»spec, «body»body, «args»status }) => {})\n«db»Database`,
    )
    expect((await editor.hover('spec')).type).toContain('readonly size: number;')
    expect((await editor.hover('body')).type).toContain('readonly metadata: Meta;')
    expect((await editor.hover('db')).type).toMatch(
      /^.*const Database: CustomResource<DefinedObject<\{\s+size: number;/,
    )
  })

  test('completes the members of an operator, of a resource and of a patch, without internals', async () => {
    await editor.open(
      `${preamble}kopf.«operator»on\nDatabase.«resource»kind\nkopf.on.create(Database, ({ patch }) => { patch.«patch»spec })`,
    )
    expect(await editor.completions('operator')).toEqual(
      expect.arrayContaining([
        'daemon',
        'explain',
        'index',
        'name',
        'on',
        'reconcile',
        'run',
        'settings',
        'start',
        'timer',
        'use',
      ]),
    )
    for (const mark of ['operator', 'resource', 'patch']) {
      const names = await editor.completions(mark)
      expect(names.filter((name) => !/^[a-z][A-Za-z]*$/.test(name))).toEqual([])
    }
  })

  test('completes field paths level by level', async () => {
    await editor.open(`${preamble}
kopf.on.field(Database, '«top»', () => {})
kopf.on.field(Database, 'spec.«spec»', () => {})
kopf.on.update(Database, { field: 'spec.storage.«nested»' }, () => {})
kopf.on.field(Database, ['spec', '«key»'], () => {})
`)
    expect((await editor.completions('top')).toSorted()).toEqual(['apiVersion', 'kind', 'metadata', 'spec', 'status'])
    expect((await editor.completions('spec')).toSorted()).toEqual(['spec.size', 'spec.storage', 'spec.users'])
    const nested = ['spec.storage.class', 'spec.storage.gigabytes']
    expect((await editor.completions('nested')).toSorted()).toEqual(nested)
    expect((await editor.completions('key')).toSorted()).toEqual(['size', 'storage', 'users'])
  })

  test('reports a wrong field path with the right ones', async () => {
    await editor.open(`${preamble}
kopf.on.field(Database, 'spec.sise', () => {})
kopf.on.update(Database, { field: 'spec.sise' }, () => {})
kopf.on.field(Database, 'spec.users.0', () => {})
kopf.on.field(Database, 'metadata.labels.example.com/size', () => {})
`)
    const [positional, option, list, dots, ...others] = await editor.errors()
    expect(others).toEqual([])
    expect(positional).toMatch(
      /^Argument of type '"spec.sise"' is not assignable to parameter of type '.*"spec.size".*'\.$/,
    )
    expect(option).toMatch(/^Type '"spec.sise"' is not assignable .* Did you mean '"spec.size"'\?$/)
    expect(list).toBe(`Argument of type '"spec.users.0"' is not assignable to parameter of type '"spec.users"'.`)
    expect(dots).toContain('readonly ["metadata", "labels", "example.com/size"]')
  })
})
