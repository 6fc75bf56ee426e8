/** Creates the service account `default` and the ConfigMap `kube-root-ca.crt` with the server's CA in every namespace. */
import type { KubeObject } from '../../../kube/objects.ts'
import type { ServerContext } from '../../call.ts'
import { serviceAccount } from '../call-as.ts'
import { ObjectWriter } from './object-writer.ts'
import { find, findByKey, follow } from './reading.ts'
import { WorkQueue } from './work-queue.ts'

const accountName = 'default'
const configMapName = 'kube-root-ca.crt'
const description =
  'Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters.'

export class ServiceAccountController {
  readonly #parts: ServerContext
  readonly #ca: string
  readonly #accounts: ObjectWriter
  readonly #publisher: ObjectWriter

  constructor(parts: ServerContext, ca: string) {
    this.#parts = parts
    this.#ca = ca
    this.#accounts = new ObjectWriter(parts, serviceAccount('service-account-controller'))
    this.#publisher = new ObjectWriter(parts, serviceAccount('root-ca-cert-publisher'))
    const queue = new WorkQueue(parts, (namespace) => this.#sync(namespace), 'service-accounts')
    follow(parts, 'namespaces', ({ type, current }) => type !== 'DELETED' && queue.add(current.name))
    follow(parts, 'serviceaccounts', ({ current }) => current.name === accountName && queue.add(current.namespace))
    follow(parts, 'configmaps', ({ current }) => current.name === configMapName && queue.add(current.namespace))
  }

  async #sync(namespace: string): Promise<void> {
    const found = findByKey(this.#parts, 'namespaces', namespace)
    if (found === undefined || found.metadata.deletionTimestamp !== undefined) return
    if (find(this.#parts, 'serviceaccounts', namespace, accountName) === undefined) {
      await this.#accounts.create({
        apiVersion: 'v1',
        kind: 'ServiceAccount',
        metadata: { name: accountName, namespace },
      })
    }
    await this.#publish(namespace)
  }

  async #publish(namespace: string): Promise<void> {
    const data = { 'ca.crt': this.#ca }
    const metadata = { name: configMapName, namespace, annotations: { 'kubernetes.io/description': description } }
    const present = find<KubeObject>(this.#parts, 'configmaps', namespace, configMapName)
    if (present === undefined) await this.#publisher.create({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data })
    else if ((present['data'] as typeof data | undefined)?.['ca.crt'] !== this.#ca) {
      await this.#publisher.update({ ...present, data })
    }
  }
}
