/**
 * Writes src/server/protobuf/testdata: the protobuf bodies that kubectl sends, next to the JSON that it prints for the same command,
 * and the responses of the real server (tools/envtest) in both encodings. A proxy in front of the server records the requests.
 * Run by maintainers after the pin has moved: `npx tsx tools/builtins/record-protobuf.ts`.
 */
import { execFile } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import { request } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { callApi } from '../envtest/api.ts'
import { type ControlPlane, startControlPlane } from '../envtest/control-plane.ts'
import { waitUntil } from '../envtest/waiting.ts'
import { type StoredCase, storedCases } from './cases/protobuf.ts'

const run = promisify(execFile)
const target = fileURLToPath(new URL('../../src/server/protobuf/testdata/', import.meta.url))

/** Commands that print the object they send with `--dry-run=client -o json`. `$folder` contains a certificate and its key. */
const printingCommands: readonly string[] = [
  'create configmap words --from-literal=greeting=hello --from-literal=empty= --from-file=$folder/binary',
  'create secret generic words --from-literal=password=grüße --type=example.com/words',
  'create secret tls pair --cert=$folder/serving-cert.pem --key=$folder/serving-key.pem',
  'create namespace space',
  'create serviceaccount robot',
  'create deployment web --image=nginx --image=redis --replicas=3',
  'create deployment shell --image=busybox --port=80 -- sleep 1d',
  'create service clusterip web --tcp=80:8080 --tcp=443:https',
  'create service externalname away --external-name=example.com',
  'create service nodeport outside --tcp=80:http --node-port=30080',
  'create job once --image=busybox -- true',
  'create cronjob often --image=busybox --schedule=*/5_*_*_*_* --restart=Never',
  'create role reader --verb=get,list --resource=pods,deployments.apps --resource-name=one',
  'create rolebinding readers --role=reader --user=ann --group=all --serviceaccount=default:robot',
  'create clusterrole pages --verb=get --non-resource-url=/metrics',
  'create clusterrole sum --aggregation-rule=a=b',
  'create clusterrolebinding everybody --clusterrole=view --group=system:authenticated',
  'create quota little --hard=cpu=1500m,memory=1.5Gi,pods=2 --scopes=NotTerminating',
  'create poddisruptionbudget most --selector=app=web --min-available=50%',
  'create poddisruptionbudget some --selector=app=web --max-unavailable=1',
  'create priorityclass high --value=1000000 --description=first',
  'create ingress web --class=nginx --rule=example.com/*=web:80,tls=pair --default-backend=web:http',
]

/** Commands that cannot print the object they send. */
const silentCommands: readonly string[] = [
  'create token default --duration=1h --audience=here --bound-object-kind=Secret --bound-object-name=words',
  'auth can-i list deployments.apps --subresource=scale -n default',
  'auth can-i --list',
  'auth can-i get /metrics',
  'auth whoami',
  'drain node --force --timeout=1s --grace-period=3 --disable-eviction',
]

interface SentRequest {
  readonly method: string
  readonly path: string
  readonly body: Buffer
}

async function bodyOf(message: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of message) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

/** The proxy speaks plain HTTP, so that kubectl needs no kubeconfig. */
async function startProxy(plane: ControlPlane, sent: SentRequest[]): Promise<{ url: string; close(): void }> {
  const { caPem: ca, admin } = plane
  const server = createServer(async (incoming, outgoing) => {
    const { method = 'GET', url = '/', headers } = incoming
    const body = await bodyOf(incoming)
    const isProtobuf = headers['content-type']?.startsWith('application/vnd.kubernetes.protobuf') === true
    if (isProtobuf && body.length > 0) sent.push({ method, path: url, body })
    const { host: _, ...rest } = headers
    const options = { method, headers: rest, ca, cert: admin.certPem, key: admin.keyPem }
    request(new URL(url, plane.url), options, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 500, answer.headers)
      answer.pipe(outgoing)
    }).end(body)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const close = (): void => {
    server.close()
    server.closeAllConnections()
  }
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close }
}

await using plane = await startControlPlane()
const sent: SentRequest[] = []
const proxy = await startProxy(plane, sent)

async function kubectl(command: string, ...more: readonly string[]): Promise<string> {
  const words = command.split(' ').map((word) => word.replace('$folder', plane.folder).replaceAll('_', ' '))
  const args = ['--kubeconfig=/dev/null', `--server=${proxy.url}`, ...words]
  const dashes = args.indexOf('--')
  args.splice(dashes < 0 ? args.length : dashes, 0, ...more)
  return (await run(plane.binaries.kubectl, args)).stdout
}

/** Reads the same object in both encodings, again if a controller changed it in between. */
async function recordStored({ path, body }: StoredCase): Promise<object> {
  const name = (body['metadata'] as { name: string } | undefined)?.name
  const post = { method: 'POST', body: JSON.stringify(body) }
  const read = async (accept: string, place: string, options: RequestInit): Promise<Buffer> => {
    const headers = { accept, 'content-type': 'application/json' }
    const answer = await fetch(`${proxy.url}${place}`, { ...options, headers })
    if (!answer.ok) throw new Error(`${place}: ${await answer.text()}`)
    return Buffer.from(await answer.arrayBuffer())
  }
  if (name !== undefined) await read('application/json', path, post)
  const [place, options] = name === undefined ? ([path, post] as const) : ([`${path}/${name}`, {}] as const)
  for (;;) {
    const before = (await read('application/json', place, options)).toString()
    const encoded = await read('application/vnd.kubernetes.protobuf', place, options)
    const after = (await read('application/json', place, options)).toString()
    if (before === after) return { path, body: encoded.toString('base64'), shown: JSON.parse(after) as unknown }
  }
}

async function record(command: string, prints: boolean): Promise<object[]> {
  const printed = prints ? (JSON.parse(await kubectl(command, '--dry-run=client', '-o=json')) as unknown) : undefined
  sent.length = 0
  // A refused request is recorded as well: only the sent body matters.
  await kubectl(command).catch(() => '')
  if (sent.length === 0) throw new Error(`Nothing was sent by ${command}`)
  return sent.map(({ method, path, body }) => {
    return { command, method, path, body: body.toString('base64'), ...(prints && { printed }) }
  })
}

/** `kubectl drain` needs a node with a pod. */
async function createNodeWithPod(): Promise<void> {
  const api = { url: plane.url, caPem: plane.caPem, user: plane.admin }
  await callApi(api, { method: 'POST', path: '/api/v1/nodes', body: { metadata: { name: 'node' } } })
  const spec = { nodeName: 'node', containers: [{ name: 'main', image: 'busybox' }] }
  const body = { metadata: { name: 'pod' }, spec }
  const path = '/api/v1/namespaces/default/pods'
  // Pods are refused until a controller has created the default service account.
  await waitUntil(async () => (await callApi(api, { method: 'POST', path, body })).status === 201, {
    what: 'a pod to be accepted',
    children: [],
    timeoutMs: 10_000,
  })
}

writeFileSync(join(plane.folder, 'binary'), Buffer.from([0xff, 0x00, 0xfe]))
await createNodeWithPod()
const entries: object[] = []
for (const command of printingCommands) entries.push(...(await record(command, true)))
for (const command of silentCommands) entries.push(...(await record(command, false)))
const stored: object[] = []
for (const entry of storedCases) stored.push(await recordStored(entry))
proxy.close()
mkdirSync(target, { recursive: true })
writeFileSync(join(target, 'kubectl.json'), `${JSON.stringify(entries, undefined, 1)}\n`)
writeFileSync(join(target, 'stored.json'), `${JSON.stringify(stored, undefined, 1)}\n`)
console.log(`${entries.length} bodies, ${stored.length} objects`)
