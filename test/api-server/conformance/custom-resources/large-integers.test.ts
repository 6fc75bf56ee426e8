/** Integers that a double cannot hold: custom resources keep them exactly within the range of int64. */
import { beforeAll, expect, test } from 'vitest'
import { useCluster } from '../../../support/cluster.ts'
import { expectStatus } from '../../../support/expectations.ts'

const cluster = useCluster()
const widgets = () => cluster.custom('widgets')

beforeAll(async () => {
  const spec = {
    type: 'object',
    'x-kubernetes-preserve-unknown-fields': true,
    properties: { exact: { type: 'integer', format: 'int64' }, least: { type: 'integer', minimum: 10 } },
  }
  await cluster.install({ kind: 'Widget', schema: { type: 'object', properties: { spec } } })
})

const largest = '9223372036854775807'
const smallest = '-9223372036854775808'

function text(name: string, spec: string): string {
  return `{"apiVersion":"${cluster.group}/v1","kind":"Widget","metadata":{"name":"${name}"},"spec":${spec}}`
}

async function create(name: string, spec: string): Promise<void> {
  expectStatus(await cluster.api.post(widgets(), text(name, spec)), 201)
}

async function read(name: string): Promise<string> {
  const answer = await cluster.api.get(`${widgets()}/${name}`)
  return /"spec":(.*)\}\s*$/.exec(answer.text)?.[1] ?? answer.text
}

test('integers of 64 bits are read as they were written', async () => {
  const spec = `{"exact":9007199254740993,"list":[${largest},{"deep":${smallest}}],"small":1}`
  await create('kept', spec)
  expect(await read('kept')).toBe(spec)
  const { text: list } = await cluster.api.get(widgets(), { fieldSelector: 'metadata.name=kept' })
  expect(list).toContain(`"list":[${largest},{"deep":${smallest}}]`)
})

test('integers of 64 bits survive merge patches, JSON patches and updates', async () => {
  const path = `${widgets()}/edited`
  await create('edited', '{"exact":9007199254740993}')
  expectStatus(await cluster.api.mergePatch(path, `{"spec":{"other":${largest}}}`), 200)
  expect(await read('edited')).toBe(`{"exact":9007199254740993,"other":${largest}}`)
  const operations = (tested: string) =>
    `[{"op":"test","path":"/spec/exact","value":${tested}},{"op":"replace","path":"/spec/exact","value":9007199254740995}]`
  expect((await cluster.api.jsonPatch(path, operations('9007199254740992'))).status).toBe(422)
  expectStatus(await cluster.api.jsonPatch(path, operations('9007199254740993')), 200)
  expect(await read('edited')).toBe(`{"exact":9007199254740995,"other":${largest}}`)
})

test('a change of the last digit of a 64-bit integer raises the generation', async () => {
  await create('last-digit', '{"exact":9007199254740993}')
  const path = `${widgets()}/last-digit`
  const same = expectStatus(await cluster.api.mergePatch(path, '{"spec":{"exact":9007199254740993}}'), 200)
  expect(same.metadata.generation).toBe(1)
  const other = expectStatus(await cluster.api.mergePatch(path, '{"spec":{"exact":9007199254740992}}'), 200)
  expect(other.metadata.generation).toBe(2)
})

test('watches show integers of 64 bits', async () => {
  const watch = await cluster.api.watch(widgets())
  await create('watched', `{"exact":${largest}}`)
  let line = ''
  while (!line.includes('"watched"')) line = JSON.stringify(await watch.next())
  watch.close()
  // The watch of this suite parses numbers as doubles, so only the rounded value is compared.
  expect(line).toContain('"exact":9223372036854776000')
})

test('integers of 64 bits are validated against the limits of the schema', async () => {
  await create('within', `{"least":${largest}}`)
  const refused = await cluster.api.post(widgets(), text('without', `{"least":${smallest}}`))
  expect(refused.status).toBe(422)
  expect(refused.body['message']).toContain('should be greater than or equal to 10')
})

test('integers beyond 64 bits become floating-point numbers', async () => {
  await create('beyond', '{"huge":9223372036854775808}')
  expect(JSON.parse(await read('beyond'))).toEqual({ huge: 2 ** 63 })
})
