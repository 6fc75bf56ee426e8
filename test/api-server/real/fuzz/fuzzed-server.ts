/** One server during one run: sends commands to it, and replaces the references of later commands by values of its answers. */
import type { Answer, Body, Tree } from '../../../support/answers.ts'
import type { Api } from '../../../support/api.ts'
import { crdServed } from '../../../support/crds.ts'
import type { Watch } from '../../../support/watch.ts'
import type { Command } from './commands.ts'
import { type ResourceName, resourcePaths, types } from './fuzzed-resources.ts'
import { applyMergePatch } from './merge-trees.ts'

const patchTypes = {
  merge: 'application/merge-patch+json',
  json: 'application/json-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  apply: 'application/apply-patch+yaml',
}
const noUid = '00000000-0000-4000-8000-000000000000'

export class FuzzedServer {
  readonly api: Api
  readonly namespace: string
  readonly watches: Watch[] = []

  /** The first and the last seen state of objects, by plural and name. */
  readonly #first = new Map<string, Body>()
  readonly #last = new Map<string, Body>()
  readonly #generated = new Map<string, string>()
  /** The names of the CRDs that were created during the run. */
  readonly #defined: string[] = []
  #listed: { resourceVersion: string; continue: string } = { resourceVersion: '', continue: '' }

  constructor(api: Api, namespace: string) {
    this.api = api
    this.namespace = namespace
  }

  async send(command: Command): Promise<Answer> {
    const { method, resource, patch } = command
    const body = this.#bodyOf(command)
    const answer = await this.api.request(method, this.#pathOf(command), {
      query: this.#queryOf(command),
      ...(body === undefined ? {} : { body }),
      ...(patch === undefined ? {} : { contentType: patchTypes[patch] }),
      ...acceptOf(command),
    })
    if (command.query?.['dryRun'] !== undefined) return answer
    this.#remember(resource, answer.body, method === 'POST')
    if (resource === 'definitions' && answer.status === 201) {
      this.#defined.push(answer.body.metadata.name)
      await crdServed(this.api, answer.body)
    }
    return answer
  }

  /** Opens a watch. Resolves with the answer if the server refuses it. */
  async watch(command: Command): Promise<Pick<Answer, 'status' | 'headers' | 'body'> | undefined> {
    const watch = await this.api.watch(this.#pathOf(command), this.#queryOf(command), acceptOf(command))
    if (watch.status !== 200) return { status: watch.status, headers: watch.headers, body: await watch.body() }
    this.watches.push(watch)
    return undefined
  }

  /** Lists a collection consistently, which also updates the watch cache of the server. */
  async list(resource: ResourceName): Promise<Body> {
    const { body } = await this.api.get(this.#pathOf({ method: 'GET', resource }))
    for (const each of body.items) this.#remember(resource, each, false)
    return body
  }

  /** Deletes the objects of the run outside of its namespace. */
  async clean(): Promise<void> {
    for (const watch of this.watches) watch.close()
    for (const name of this.#defined) await this.api.delete(`${resourcePaths.definitions}/${name}`)
    const path = resourcePaths.gizmos
    const { items } = (await this.api.get(path)).body
    for (const { metadata } of items) {
      await this.api.mergePatch(`${path}/${metadata.name}`, { metadata: { finalizers: null } })
      await this.api.delete(`${path}/${metadata.name}`)
    }
  }

  #remember(resource: ResourceName, body: Body, isCreation: boolean): void {
    if (typeof body !== 'object' || body === null || body.metadata === undefined) return
    if (Array.isArray(body.items)) {
      const { resourceVersion, continue: token = '' } = body.metadata
      this.#listed = { resourceVersion, continue: token }
    }
    if (body.metadata.uid === undefined) return
    const key = keyOf(resource, body.metadata.name)
    if (isCreation && body.metadata['generateName'] !== undefined)
      this.#generated.set(plural(resource), body.metadata.name)
    if (this.#first.get(key)?.metadata.uid !== body.metadata.uid) this.#first.set(key, body)
    this.#last.set(key, body)
  }

  #pathOf({ resource, name, subresource }: Command): string {
    const parts = [resourcePaths[resource].replaceAll('{ns}', this.namespace)]
    if (name !== undefined) parts.push(encodeURIComponent(this.#nameOf(resource, name)))
    if (subresource !== undefined) parts.push(subresource)
    return parts.join('/')
  }

  #nameOf(resource: ResourceName, name: string): string {
    return name === '@' ? (this.#generated.get(plural(resource)) ?? 'none') : name
  }

  #queryOf({ query = {}, resource }: Command): Record<string, string> {
    return Object.fromEntries(Object.entries(query).map(([key, value]) => [key, this.#fill(resource, value)]))
  }

  #bodyOf({ resource, body }: Command): unknown {
    if (body === undefined) return undefined
    if (typeof body === 'string') return this.#fill(resource, body)
    return JSON.parse(this.#fill(resource, JSON.stringify(this.#base(resource, body))))
  }

  #base(resource: ResourceName, body: unknown): unknown {
    if (typeof body !== 'object' || body === null || !('$read' in body)) return body
    const { $read, ...changes } = body as Tree
    const name = this.#nameOf(resource, String($read))
    const read = this.#last.get(keyOf(resource, name)) ?? { ...types[resource], metadata: { name } }
    return applyMergePatch(read, changes)
  }

  #fill(resource: ResourceName, text: string): string {
    return text.replaceAll(/<(uid|rv|old|continue|ns)(?::([^>]*))?>/g, (_, what: string, name?: string) => {
      if (what === 'ns') return this.namespace
      if (what === 'continue') return this.#listed.continue
      if (name === undefined) return this.#listed.resourceVersion
      const key = keyOf(resource, this.#nameOf(resource, name))
      const seen = (what === 'old' ? this.#first : this.#last).get(key)?.metadata
      return (what === 'uid' ? (seen?.uid ?? noUid) : seen?.resourceVersion) ?? ''
    })
  }
}

function acceptOf({ as }: Command): { accept?: string } {
  return as === undefined ? {} : { accept: `application/json;as=${as};v=v1;g=meta.k8s.io` }
}

function plural(resource: ResourceName): string {
  return resource.split('.')[0]!
}

function keyOf(resource: ResourceName, name: string): string {
  return `${plural(resource)}/${name}`
}
