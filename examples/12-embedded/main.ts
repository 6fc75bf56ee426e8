import { setTimeout as sleep } from 'node:timers/promises'
import { CustomObjectsApi, KubeConfig } from '@kubernetes/client-node'
import kopf, { names } from './operator.ts'

// The application has a client of its own: whichever it likes.
const config = new KubeConfig()
config.loadFromDefault()
const api = config.makeApiClient(CustomObjectsApi)
const examples = { group: 'kopf.dev', version: 'v1', namespace: 'default', plural: 'kopfexamples' }

// Stopped at the end of the program, however that comes about.
await using running = await kopf.start({ namespaces: ['default'] })
await running.ready

for (const name of ['alice', 'bob']) {
  const body = { apiVersion: 'kopf.dev/v1', kind: 'KopfExample', metadata: { name }, spec: { who: name } }
  await api.createNamespacedCustomObject({ ...examples, body })
  await sleep(500)
  say(`The operator knows: ${names.get('all').join(', ')}`)
}
for (const name of ['alice', 'bob']) await api.deleteNamespacedCustomObject({ ...examples, name })
await sleep(500)
say(`The operator knows ${names.get('all').length} objects`)

function say(text: string): void {
  process.stdout.write(`${text}\n`)
}
