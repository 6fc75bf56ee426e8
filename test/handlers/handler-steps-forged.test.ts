/** Results of steps that the author of the object has written or restored are ignored, and the step runs. */
import { type Args, Operator, TemporaryError } from 'kopf'
import { expect, test } from 'vitest'
import type { Tree } from '../support/answers.ts'
import { annotationsOf, isHandled, recordsOf, settle, useCleanLab } from '../support/handled.ts'
import type { Body } from '../support/lab.ts'

const lab = useCleanLab()

const prefix = 'kopf.zalando.org'
const started = '2026-01-01T00:00:00.000000+00:00'
const forged = { started, stopped: started, purpose: 'create', retries: 1, success: true, failure: false }

/** Annotations by which an author tries to skip the step "bucket" of the handler "fn". */
function forgedAnnotations(record: Tree): Record<string, string> {
  const handler = { ...forged, stopped: null, success: false, subrefs: ['fn/bucket'] }
  return { [`${prefix}/fn`]: JSON.stringify(handler), [`${prefix}/fn.bucket`]: JSON.stringify(record) }
}

const unknownKey = `v1.${'0'.repeat(16)}.${'A'.repeat(43)}`

test.each<[string, Tree]>([
  ['without-signature', { ...forged, result: '"bucket-of-payroll"' }],
  ['with-unknown-key', { ...forged, result: '"bucket-of-payroll"', signature: unknownKey }],
  ['with-garbage', { ...forged, result: '"bucket-of-payroll"', signature: '__proto__' }],
  ['with-a-number', { ...forged, result: '"bucket-of-payroll"', signature: 5 }],
  ['with-null', { ...forged, result: '"bucket-of-payroll"', signature: null }],
  ['that-is-huge', { ...forged, result: '"bucket-of-payroll"', signature: 'v1.'.repeat(20_000) }],
  ['that-is-no-json', { ...forged, result: '{"bucket' }],
])('a step result that the author of the object wrote is ignored: one %s', async (name, record) => {
  const granted: string[] = []
  const kopf = new Operator()
  kopf.on.create(lab.widgets, { id: 'fn' }, async ({ name, step }) => {
    granted.push(await step('bucket', () => `bucket-of-${name}`))
  })
  await lab.create(name, { metadata: { annotations: forgedAnnotations(record) } })
  await lab.start(kopf)
  const body = await lab.untilObject(name, isHandled)
  expect(granted).toEqual([`bucket-of-${name}`])
  expect(recordsOf(body)).toEqual({})
  const warnings = lab.logs.filter((line) => line.includes('is not used'))
  expect(warnings).toHaveLength(1)
  expect(warnings[0]).toMatch(
    new RegExp(`\\[${lab.namespace}/${name}\\].*stored result of step "bucket" of handler "fn" is not used`),
  )
})

/** An operator whose handlers fail after their steps, so that the results stay on the object; `effects` lists the executed steps. */
function unfinished(effects: string[], { ids = ['fn'], steps = ['a'] } = {}): Operator {
  const kopf = new Operator()
  for (const id of ids) {
    const fn = async ({ step }: { step: (id: string, fn: () => string) => Promise<string> }) => {
      for (const name of steps) await step(name, () => `${id}.${name}#${effects.push(`${id}.${name}`)}`)
      throw new TemporaryError('not yet', { delay: 600 })
    }
    kopf.on.create(lab.widgets, { id }, fn)
    kopf.on.update(lab.widgets, { id }, fn)
  }
  return kopf
}

/** Runs the steps of an object once, and stops the operator. */
async function runOnce(name: string, fields: Tree, options: Parameters<typeof unfinished>[1] = {}): Promise<Body> {
  const running = await lab.start(unfinished([], options))
  await lab.create(name, fields)
  const last = [options.ids?.at(-1) ?? 'fn', options.steps?.at(-1) ?? 'a'].join('.')
  const body = await lab.untilObject(name, (one) => last in recordsOf(one))
  await lab.stop(running)
  return body
}

/** The steps that another process executes for the object. */
async function effectsOf(name: string, options: Parameters<typeof unfinished>[1] = {}): Promise<string[]> {
  const effects: string[] = []
  await lab.patch(name, { metadata: { annotations: { wake: 'up' } } })
  const dueNow = Object.entries(recordsOf(await lab.get(name))).map(([key, record]) => {
    return [`${prefix}/${key}`, JSON.stringify({ ...record, delayed: undefined })]
  })
  await lab.patch(name, { metadata: { annotations: Object.fromEntries(dueNow) } })
  await lab.start(unfinished(effects, options))
  await lab.untilLogged('not yet')
  await settle(lab)
  return effects
}

test('the next process accepts the step results that the previous one has signed', async () => {
  await runOnce('genuine', { spec: { size: 1 } })
  expect(await effectsOf('genuine')).toEqual([])
})

test('a step result that is signed for another object is ignored', async () => {
  const donor = await runOnce('donor', { spec: { size: 1 } })
  await lab.delete('donor')
  await lab.create('thief', { spec: { size: 1 }, metadata: { annotations: annotationsOf(donor) } })
  expect(await effectsOf('thief')).toEqual(['fn.a'])
})

test('a step result that is signed for an earlier object of the same name is ignored', async () => {
  const donor = await runOnce('reborn', { spec: { size: 1 } })
  await lab.delete('reborn')
  await lab.untilGone('reborn')
  await lab.create('reborn', { spec: { size: 1 }, metadata: { annotations: annotationsOf(donor) } })
  expect(await effectsOf('reborn')).toEqual(['fn.a'])
})

test('a step result that is signed for another handler is ignored', async () => {
  const body = await runOnce('handlers', { spec: {} })
  const { fn, 'fn.a': a } = recordsOf(body)
  const annotations = {
    [`${prefix}/other`]: JSON.stringify({ ...fn, subrefs: ['other/a'] }),
    [`${prefix}/other.a`]: JSON.stringify(a),
  }
  await lab.patch('handlers', { metadata: { annotations } })
  expect(await effectsOf('handlers', { ids: ['fn', 'other'] })).toEqual(['other.a'])
})

test('a step result that is signed for another step is ignored', async () => {
  const body = await runOnce('steps', { spec: {} })
  const { fn, 'fn.a': a } = recordsOf(body)
  const annotations = {
    [`${prefix}/fn`]: JSON.stringify({ ...fn, subrefs: ['fn/a', 'fn/b'] }),
    [`${prefix}/fn.b`]: JSON.stringify(a),
  }
  await lab.patch('steps', { metadata: { annotations } })
  expect(await effectsOf('steps', { steps: ['a', 'b'] })).toEqual(['fn.b'])
})

test('a step result with another value or another start is ignored', async () => {
  const body = await runOnce('edited', { spec: {} }, { steps: ['a', 'b'] })
  const { fn, 'fn.a': a, 'fn.b': b } = recordsOf(body)
  const annotations = {
    [`${prefix}/fn`]: JSON.stringify({ ...fn, started }),
    [`${prefix}/fn.a`]: JSON.stringify({ ...a, started }),
    [`${prefix}/fn.b`]: JSON.stringify({ ...b, started, result: '"forged"' }),
  }
  await lab.patch('edited', { metadata: { annotations } })
  expect(await effectsOf('edited', { steps: ['a', 'b'] })).toEqual(['fn.a', 'fn.b'])
})

test('a step result of an earlier run is ignored after a change of the spec', async () => {
  const granted: string[] = []
  const kopf = new Operator()
  const fn = async ({ spec, step, retry }: Args<'create', string>) => {
    const target = await step('check', () => `checked ${spec['target']}`)
    await step('prepare', () => {})
    if (retry === 0) throw new TemporaryError('not yet', { delay: 0.3 })
    granted.push(`${target}, used for ${spec['target']}`)
  }
  kopf.on.create(lab.widgets, { id: 'fn' }, fn)
  kopf.on.update(lab.widgets, { id: 'fn' }, fn)
  await lab.start(kopf)
  await lab.create('replayed', { spec: { target: 'mine' } })
  const half = await lab.untilObject('replayed', (body) => 'fn.check' in recordsOf(body) && 'fn' in recordsOf(body))
  await lab.untilObject('replayed', isHandled)
  const saved = Object.fromEntries(
    Object.entries(recordsOf(half)).map(([key, one]) => [`${prefix}/${key}`, JSON.stringify(one)]),
  )
  await lab.patch('replayed', { spec: { target: 'payroll' }, metadata: { annotations: saved } })
  await lab.until(() => granted.length === 2)
  expect(granted).toEqual(['checked mine, used for mine', 'checked payroll, used for payroll'])
})

test('a step result is valid after a change of labels and a restart, and not after a change of the spec', async () => {
  await runOnce('changed', { spec: { size: 1 } })
  await lab.patch('changed', { metadata: { labels: { colour: 'blue' } } })
  expect(await effectsOf('changed')).toEqual([])
  await lab.stopAll()
  await lab.patch('changed', { spec: { size: 2 } })
  expect(await effectsOf('changed')).toEqual(['fn.a'])
})

test('a change of the spec repeats no step within the same process, nor after a restart after the next attempt', async () => {
  const calls: string[] = []
  const kopf = new Operator()
  const fn = async ({ spec, step }: Args<'create', string>) => {
    await step('a', () => void calls.push('a'))
    calls.push(`size ${spec['size']}`)
    throw new TemporaryError('not yet', { delay: spec['size'] === 1 ? 0.3 : 600 })
  }
  kopf.on.create(lab.widgets, { id: 'fn' }, fn)
  kopf.on.update(lab.widgets, { id: 'fn' }, fn)
  const running = await lab.start(kopf)
  await lab.create('resized', { spec: { size: 1 } })
  await lab.until(() => calls.includes('size 1'))
  await lab.patch('resized', { spec: { size: 2 } })
  await lab.until(() => calls.includes('size 2'))
  await settle(lab)
  expect(calls.filter((call) => call === 'a')).toEqual(['a'])
  await lab.stop(running)
  expect(await effectsOf('resized')).toEqual([])
})

test('a signed step result of the same object, handler, start and spec can be restored by the author', async () => {
  const body = await runOnce('rolled-back', { spec: { size: 1 } })
  const saved = annotationsOf(body)
  await lab.patch('rolled-back', { metadata: { annotations: { [`${prefix}/fn`]: null, [`${prefix}/fn.a`]: null } } })
  await lab.patch('rolled-back', { metadata: { annotations: saved } })
  expect(await effectsOf('rolled-back')).toEqual([])
})

test('a forged step result in a sub-handler is ignored', async () => {
  const results: string[] = []
  const kopf = new Operator()
  kopf.on.create(lab.widgets, { id: 'p' }, ({ subhandler }) => {
    subhandler('x', async ({ step }) => void results.push(await step('inner', () => 'genuine')))
  })
  const unfinishedRecord = { ...forged, stopped: null, success: false }
  const annotations = {
    [`${prefix}/p`]: JSON.stringify({ ...unfinishedRecord, subrefs: ['p/x', 'p/x/inner'] }),
    [`${prefix}/p.x`]: JSON.stringify({ ...unfinishedRecord, subrefs: ['p/x/inner'] }),
    [`${prefix}/p.x.inner`]: JSON.stringify({ ...forged, result: '"forged"' }),
  }
  await lab.create('nested', { metadata: { annotations } })
  await lab.start(kopf)
  const body = await lab.untilObject('nested', isHandled)
  expect(results).toEqual(['genuine'])
  expect(recordsOf(body)).toEqual({})
})

test('a forged step record is removed when its handler ends, while other handlers are retried', async () => {
  const kopf = new Operator()
  kopf.on.create(lab.widgets, { id: 'fn' }, () => {})
  kopf.on.create(lab.widgets, { id: 'other' }, () => {
    throw new TemporaryError('not yet', { delay: 600 })
  })
  const annotations = forgedAnnotations({ ...forged, result: '"forged"' })
  await lab.create('leftover', { metadata: { annotations } })
  await lab.start(kopf)
  const body = await lab.untilObject('leftover', (one) => recordsOf(one)['other']?.['retries'] === 1)
  expect(Object.keys(recordsOf(body)).sort()).toEqual(['fn', 'other'])
})
