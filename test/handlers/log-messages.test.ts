/** Log messages that users search for: they are the same as Kopf's. */
import { type Client, Operator, PermanentError, TemporaryError } from 'kopf'
import { expect, test } from 'vitest'
import { untilHandled, useCleanLab } from '../support/handled.ts'

const lab = useCleanLab()

test("the log messages about the lifecycle of an object are the same as Kopf's", async () => {
  const kopf = new Operator()
  kopf.on.create(lab.widgets, { id: 'c' }, ({ retry }) => {
    if (retry === 0) throw new TemporaryError('not yet', { delay: 0.1 })
  })
  kopf.on.update(lab.widgets, { id: 'u' }, () => {
    throw new PermanentError('never')
  })
  kopf.on.delete(lab.widgets, { id: 'd' }, () => {})
  await lab.start(kopf)
  await lab.create('told', { spec: { n: 1 } })
  await untilHandled(lab, 'told')
  await lab.patch('told', { spec: { n: 2 } })
  await lab.untilLogged('Updating is processed')
  await lab.patch('told', { status: { seen: true } }, '/status')
  await lab.untilLogged('Something has changed, but we are not interested')
  await lab.delete('told')
  await lab.untilGone('told')
  await lab.untilLogged('Deleted, really deleted, and we are notified.')
  for (const phrase of [
    'Adding the finalizer, thus preventing the actual deletion.',
    'Creation is in progress: ',
    "Handler 'c' is invoked.",
    "Handler 'c' failed temporarily: not yet",
    "Handler 'c' succeeded.",
    'Creation is processed: 1 succeeded; 0 failed.',
    'Handling cycle is finished, waiting for new changes.',
    'Updating is in progress: ',
    "Handler 'u' failed permanently: never",
    'Updating is processed: 0 succeeded; 1 failed.',
    'Deletion is in progress: ',
    'Deletion is processed: 1 succeeded; 0 failed.',
    'Removing the finalizer, thus allowing the actual deletion.',
  ]) {
    expect(lab.logs.filter((line) => line.includes(`/told] ${phrase}`))).not.toEqual([])
  }
})

const failing: Readonly<Record<string, (client: Client) => Promise<unknown>>> = {
  get: (client) => client.get('configmaps', 'missing'),
  list: (client) => client.list('configmaps', { labelSelector: '=' }),
  create: (client) => client.create('configmaps', { metadata: { name: 'NOT A NAME' } }),
  createUnnamed: (client) => client.create({ kind: 'ConfigMap', metadata: { name: 'x' } } as never),
  patch: (client) => client.patch('configmaps', 'missing', { data: { a: 'b' } }),
  replace: (client) => client.replace('configmaps', { metadata: { name: 'missing' } }),
  apply: (client) => client.apply('configmaps', { metadata: { name: 'NOT A NAME' } }),
  delete: (client) => client.delete('configmaps', 'missing'),
}

test.each(Object.keys(failing))(
  'a failed call of the client is logged once, with the line of the handler: %s',
  async (verb) => {
    const kopf = new Operator()
    async function breaks({ client }: { client: Client }): Promise<void> {
      await failing[verb]!(client)
    }
    kopf.on.create(lab.widgets, { id: 'broken', errors: 'permanent' }, breaks)
    await lab.start(kopf)
    await lab.create('told')
    const phrase = "Handler 'broken' failed with an exception and will stop now: "
    await lab.untilLogged(phrase)
    const [line] = lab.logs.filter((one) => one.includes(phrase))
    const why = line!.slice(line!.indexOf(phrase) + phrase.length)
    expect(why).toMatch(/^Cannot .* at="(.* \()?[^"]*log-messages\.test\.ts:\d+:\d+\)?"$/)
    expect(why).not.toContain('error=')
  },
)
