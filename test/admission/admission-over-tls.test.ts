/** Admission end to end: the API server calls the operator's webhook server over TLS, by the managed configuration. */
import { randomBytes } from 'node:crypto'
import { connect, type Socket } from 'node:net'
import { AdmissionError, Operator } from 'kopf'
import { WebhookServer } from 'kopf/webhooks'
import { afterEach, expect, test } from 'vitest'
import type { Tree } from '../support/answers.ts'
import { type Reply, useLab } from '../support/lab.ts'

const lab = useLab({
  hasSockets: true,
  crd: {
    subresources: { status: {}, scale: { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' } },
  },
})
const managed = `m${randomBytes(4).toString('hex')}.kopf.dev`
const registrations = '/apis/admissionregistration.k8s.io/v1'

afterEach(async () => {
  for (const kind of ['validating', 'mutating']) {
    await lab.call('DELETE', `${registrations}/${kind}webhookconfigurations/${managed}`)
  }
})

function createOperator(): Operator {
  const operator = new Operator()
  operator.settings.admission.server = new WebhookServer({ addr: '127.0.0.1', host: '127.0.0.1' })
  operator.settings.admission.managed = managed
  return operator
}

function widget(name: string, fields: Tree = {}): Tree {
  const { metadata, ...rest } = fields
  return { apiVersion: `${lab.group}/v1`, kind: 'Widget', metadata: { name, ...(metadata as Tree) }, ...rest }
}

const dryRun = () => `${lab.path()}?dryRun=All`
const replyTo = (fields: Tree, name = 'probe') => lab.outside(lab.call('POST', dryRun(), widget(name, fields)))

/** Retries, since an API server needs a moment to load a configuration. */
async function untilReply(fields: Tree, isSo: (reply: Reply) => boolean): Promise<Reply> {
  let last = {} as Reply
  await lab.until(async () => {
    last = await replyTo(fields)
    return isSo(last)
  })
  return last
}

test('a request that a handler refuses fails with the message and the status of the AdmissionError', async () => {
  const operator = createOperator()
  operator.on.validate(lab.widgets, { id: 'checkSize' }, ({ spec }) => {
    if (spec['size'] > 100) throw new AdmissionError('Too large, at most 100', { status: 422 })
  })
  await lab.start(operator)
  const { body, status } = await untilReply({ spec: { size: 101 } }, ({ status }) => status !== 201)
  expect(status).toBe(422)
  expect(body['message']).toBe(`admission webhook "checksize.${managed}" denied the request: Too large, at most 100`)
  expect((await replyTo({ spec: { size: 100 } })).status).toBe(201)
})

test('a patch that removes the filtered label or annotation is still reviewed by the handler', async () => {
  const operator = createOperator()
  const refuse = () => {
    throw new AdmissionError('Guarded', { status: 422 })
  }
  const updates = { operations: ['UPDATE'] as const }
  operator.on.validate(lab.widgets, { id: 'label', ...updates, labels: { guarded: 'label' } }, refuse)
  operator.on.validate(lab.widgets, { id: 'note', ...updates, annotations: { guarded: 'note' } }, refuse)
  operator.on.validate(lab.widgets, { id: 'value', ...updates, field: 'spec.guarded', value: 'value' }, refuse)
  operator.on.validate(lab.widgets, { id: 'when', ...updates, when: ({ spec }) => spec['guarded'] === 'when' }, refuse)
  await lab.start(operator)
  const change = async (name: string, patch: Tree) =>
    (await lab.outside(lab.call('PATCH', lab.path(name), patch, 'application/merge-patch+json'))).status
  const guarded: ReadonlyArray<[string, Tree, Tree]> = [
    ['by-label', { metadata: { labels: { guarded: 'label' } } }, { metadata: { labels: { guarded: null } } }],
    ['by-note', { metadata: { annotations: { guarded: 'note' } } }, { metadata: { annotations: { guarded: null } } }],
    ['by-value', { spec: { guarded: 'value' } }, { spec: { guarded: null } }],
    ['by-when', { spec: { guarded: 'when' } }, { spec: { guarded: 'no more' } }],
  ]
  for (const [name, fields] of guarded) await lab.outside(lab.create(name, fields))
  // An update that keeps the filtered value shows that the configuration is in force.
  for (const [name] of guarded) await lab.until(async () => (await change(name, { spec: { size: 1 } })) === 422)
  for (const [name, , removal] of guarded) expect([name, await change(name, removal)]).toEqual([name, 422])
  await lab.outside(lab.create('free', {}))
  expect(await change('free', { spec: { size: 1 } })).toBe(200)
})

test('the patch of a mutating handler is stored, and validating handlers see it', async () => {
  const operator = createOperator()
  const seen: unknown[] = []
  operator.on.mutate(lab.widgets, ({ patch, spec }) => {
    patch.metadata.labels['example.com/seen'] = 'yes'
    patch.spec['size'] = (spec['size'] ?? 0) + 1
    patch.spec['gone'] = null
    patch.fns.push((body) => body.spec['list']?.push('last'))
  })
  operator.on.validate(lab.widgets, ({ spec, dryrun }) => void seen.push([spec['size'], dryrun]))
  await lab.start(operator)
  const spec = { size: 41, gone: 1, list: ['first'] }
  const { body } = await untilReply({ spec }, (reply) => reply.body.spec['size'] === 42 && seen.length > 0)
  expect(body.spec).toEqual({ size: 42, list: ['first', 'last'] })
  expect(body.metadata.labels).toEqual({ 'example.com/seen': 'yes' })
  expect(seen.at(-1)).toEqual([42, true])
})

test('writes are reviewed while hundreds of idle or half-open connections exceed the limit of the webhook server', async () => {
  const operator = createOperator()
  operator.on.validate(lab.widgets, ({ spec }) => {
    if (spec['size'] > 100) throw new AdmissionError('Too large', { status: 422 })
  })
  await lab.start(operator)
  await untilReply({ spec: { size: 101 } }, ({ status }) => status === 422)
  const port = Number(/Listening for webhooks at https:\/\/127\.0\.0\.1:(\d+)/.exec(lab.logs.join('\n'))?.[1])
  const sockets = Array.from({ length: 1100 }, () => connect({ host: '127.0.0.1', port }))
  await lab.outside(Promise.all(sockets.map(untilConnected)))
  for (let count = 0; count < 5; count += 1) {
    expect((await replyTo({ spec: { size: 101 } })).status).toBe(422)
    expect((await replyTo({ spec: { size: 100 } })).status).toBe(201)
  }
  for (const socket of sockets) socket.destroy()
})

/** Every second socket begins a handshake and does not continue. */
async function untilConnected(socket: Socket, index: number): Promise<void> {
  socket.on('error', () => {})
  await new Promise<void>((resolve) => {
    socket.once('close', () => resolve())
    socket.once('connect', () => socket.write(index % 2 === 0 ? '' : '\u0016\u0003\u0001', () => resolve()))
  })
}

test('warnings of an admission handler reach the client of the API server', async () => {
  const operator = createOperator()
  operator.on.validate(lab.widgets, ({ warnings }) => void warnings.push('Blue is going out of fashion'))
  await lab.start(operator)
  const { headers } = await untilReply({}, ({ headers }) => headers['warning'] !== undefined)
  expect(String(headers['warning'])).toContain('Blue is going out of fashion')
})

test('updates, subresources and deletions of an object are reviewed', async () => {
  const operator = createOperator()
  const asked: string[] = []
  operator.on.validate(lab.widgets, { subresource: '*' }, ({ operation, subresource, old, new: now, userinfo }) => {
    const states = [old, now].map((one) => one && (one.spec?.['size'] ?? one.kind)).join(' to ')
    asked.push(`${operation} ${subresource ?? 'itself'}: ${states}${userinfo.username ? '' : ' by nobody'}`)
  })
  await lab.start(operator)
  await untilReply({}, () => asked.length > 0)
  asked.length = 0
  await lab.outside(lab.create('one', { spec: { size: 1, replicas: 1 } }))
  await lab.outside(lab.patch('one', { spec: { size: 2 } }))
  await lab.outside(lab.patch('one', { status: { replicas: 1 } }, '/status'))
  await lab.outside(lab.patch('one', { spec: { replicas: 3 } }, '/scale'))
  await lab.outside(lab.delete('one'))
  expect(asked).toEqual([
    'CREATE itself:  to 1',
    'UPDATE itself: 1 to 2',
    'UPDATE status: 2 to 2',
    'UPDATE scale: Scale to Scale',
    'DELETE itself: 2 to ',
  ])
})

test('objects without the filtered label are not sent to the webhook', async () => {
  const operator = createOperator()
  const asked: (string | undefined)[] = []
  operator.on.validate(lab.widgets, { labels: { colour: 'blue' } }, ({ labels }) => void asked.push(labels['colour']))
  await lab.start(operator)
  await untilReply({ metadata: { labels: { colour: 'blue' } } }, () => asked.length > 0)
  asked.length = 0
  await replyTo({ metadata: { labels: { colour: 'red' } } })
  await replyTo({ metadata: { labels: { colour: 'blue' } } })
  expect(asked).toEqual(['blue'])
})

test('an operator can handle objects whose writes its own webhooks review', async () => {
  const operator = createOperator()
  const reviewed: string[] = []
  operator.on.validate(lab.widgets, ({ operation }) => void reviewed.push(operation))
  operator.on.mutate(lab.widgets, { operations: ['CREATE'] }, ({ patch }) => {
    patch.spec['size'] = 7
  })
  operator.on.create(lab.widgets, ({ spec, patch }) => {
    patch.status['size'] = spec['size']
  })
  operator.on.delete(lab.widgets, () => {})
  await lab.start(operator)
  await untilReply({}, ({ body }) => body.spec?.['size'] === 7)
  await lab.outside(lab.create('two'))
  await lab.untilObject('two', ({ status }) => status?.['size'] === 7)
  await lab.outside(lab.delete('two'))
  await lab.untilGone('two')
  expect(new Set(reviewed)).toEqual(new Set(['CREATE', 'UPDATE', 'DELETE']))
})

test('the API server no longer calls the webhooks once the operator has ended', async () => {
  const operator = createOperator()
  operator.on.validate(lab.widgets, () => {
    throw new AdmissionError('Never')
  })
  const running = await lab.start(operator)
  await untilReply({}, ({ status }) => status === 500)
  await lab.stop(running)
  await untilReply({}, ({ status }) => status === 201)
})

test('a persistent webhook rejects writes after the operator has ended', async () => {
  const operator = createOperator()
  operator.on.validate(lab.widgets, { id: 'guard', persistent: true }, () => {})
  const running = await lab.start(operator)
  await lab.stop(running)
  const { body } = await untilReply({}, ({ status }) => status !== 201)
  expect(body['message']).toMatch(new RegExp(`^Internal error occurred: failed calling webhook "guard.${managed}": `))
})
