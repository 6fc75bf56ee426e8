/** Helpers for the tests of reconcilers: manifests of children and requests for them. */
import { buildObject } from 'kopf'
import { ConfigMap, Deployment } from 'kopf/kubernetes'
import type { Tree } from '../support/answers.ts'
import { useCleanLab } from '../support/handled.ts'
import type { Body, Lab, LabOptions } from '../support/lab.ts'

const mergePatch = 'application/merge-patch+json'

/** A child that no controller changes. */
export function configMap(name: string, data: Readonly<Record<string, string>> = {}, metadata: Tree = {}): ConfigMap {
  return buildObject(ConfigMap, { metadata: { name, ...metadata }, data })
}

export function deployment(name: string, replicas: number = 1): Deployment {
  const labels = { app: name }
  const containers = [{ name: 'app', image: 'example.com/app:1', ports: [{ containerPort: 80 }] }]
  return buildObject(Deployment, {
    metadata: { name },
    spec: { replicas, selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { containers } } },
  })
}

/** Requests for children of any kind in the namespace of the lab. */
export class ReconcilingLab {
  readonly #lab: Lab

  constructor(lab: Lab) {
    this.#lab = lab
  }

  path(name: string = '', plural: string = 'configmaps'): string {
    const api = plural === 'deployments' ? '/apis/apps/v1' : '/api/v1'
    return `${api}/namespaces/${this.#lab.namespace}/${plural}${name === '' ? '' : `/${name}`}`
  }

  async get(name: string, plural?: string): Promise<Body> {
    return (await this.#lab.call('GET', this.path(name, plural))).body
  }

  async exists(name: string, plural?: string): Promise<boolean> {
    return (await this.#lab.call('GET', this.path(name, plural))).status === 200
  }

  async create(object: object, plural?: string): Promise<Body> {
    const { status, body } = await this.#lab.call('POST', this.path('', plural), object)
    if (status !== 201) throw new Error(`Cannot create: ${JSON.stringify(body)}`)
    return body
  }

  async patch(name: string, patch: Tree, plural?: string, subresource: string = ''): Promise<Body> {
    const path = `${this.path(name, plural)}${subresource}`
    const { status, body } = await this.#lab.call('PATCH', path, patch, mergePatch)
    if (status !== 200) throw new Error(`Cannot patch: ${JSON.stringify(body)}`)
    return body
  }

  async delete(name: string, plural?: string): Promise<void> {
    await this.#lab.call('DELETE', this.path(name, plural))
  }

  async until(name: string, isSo: (body: Body) => boolean, plural?: string): Promise<Body> {
    let last = {} as Body
    await this.#lab.until(async () => {
      const { status, body } = await this.#lab.call('GET', this.path(name, plural))
      last = body
      return status === 200 && isSo(body)
    })
    return last
  }

  untilThere(name: string, plural?: string): Promise<Body> {
    return this.until(name, () => true, plural)
  }

  async untilGone(name: string, plural?: string): Promise<void> {
    await this.#lab.until(async () => !(await this.exists(name, plural)))
  }
}

export function useReconcilingLab(options: LabOptions = {}): {
  readonly lab: Lab
  readonly reconciling: ReconcilingLab
} {
  const lab = useCleanLab(options)
  return { lab, reconciling: new ReconcilingLab(lab) }
}
