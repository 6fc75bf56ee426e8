/** Reviews as the API server posts them, passed directly to the operator's webhook function without a socket. */
import { type Operator, WebhookError, type WebhookFn, type WebhookRequestInfo } from 'kopf'
import { expect } from 'vitest'
import type { Tree } from '../support/answers.ts'
import type { Lab } from '../support/lab.ts'

export interface Answer {
  readonly apiVersion: string
  readonly kind: string
  readonly response: {
    readonly uid: string
    readonly allowed: boolean
    readonly warnings?: readonly string[]
    readonly patch?: string
    readonly patchType?: string
    readonly status?: { readonly code: number; readonly message: string }
  }
}

/** Takes the place of a webhook server, and sends reviews to the operator. */
export class Door {
  /** The client configuration that it yields. */
  config: { readonly url?: string; readonly service?: { readonly namespace: string; readonly name: string } } = {
    url: 'https://hooks.example.com/base',
  }
  /** Whether the operator has aborted its signal. */
  isClosed = false
  fn!: WebhookFn
  readonly #lab: Lab

  // biome-ignore lint/suspicious/noExplicitAny: operators with any memo.
  constructor(lab: Lab, operator: Operator<any>, managed: string | null = null) {
    this.#lab = lab
    const door = this
    operator.settings.admission.managed = managed
    operator.settings.admission.server = async function* (fn, { signal }) {
      door.fn = fn
      yield door.config
      if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve))
      door.isClosed = true
    }
  }

  /** Sends a review of the creation of the widget `one`, changed by the given fields. */
  async ask(request: Tree = {}, info: WebhookRequestInfo = {}): Promise<Answer['response']> {
    return (await this.post(reviewOf(this.#lab, request), info)).response
  }

  async post(review: unknown, info: WebhookRequestInfo = {}): Promise<Answer> {
    return (await this.fn(review, info)) as Answer
  }
}

export function reviewOf(lab: Pick<Lab, 'group' | 'namespace'>, request: Tree = {}): Tree {
  const kind = { group: lab.group, version: 'v1', kind: 'Widget' }
  const resource = { group: lab.group, version: 'v1', resource: 'widgets' }
  return {
    apiVersion: 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    request: {
      uid: 'review-uid',
      kind,
      resource,
      requestKind: kind,
      requestResource: resource,
      name: 'one',
      namespace: lab.namespace,
      operation: 'CREATE',
      userInfo: { username: 'admin', groups: ['system:authenticated'] },
      object: widget(lab),
      oldObject: null,
      dryRun: false,
      options: { kind: 'CreateOptions', apiVersion: 'meta.k8s.io/v1' },
      ...request,
    },
  }
}

export function widget(lab: Pick<Lab, 'group' | 'namespace'>, fields: Tree = {}): Tree {
  const { metadata, ...rest } = fields
  return {
    apiVersion: `${lab.group}/v1`,
    kind: 'Widget',
    metadata: { name: 'one', namespace: lab.namespace, ...(metadata as Tree) },
    spec: { size: 1 },
    ...rest,
  }
}

/** The JSON patch of a response; empty if there is none. */
export function editsOf({ patch }: Answer['response']): readonly Tree[] {
  return patch === undefined ? [] : JSON.parse(Buffer.from(patch, 'base64').toString())
}

/** The status and message of the WebhookError with which the request was refused. */
export async function refusalOf(asking: Promise<unknown>): Promise<{ status: number; message: string }> {
  const error: unknown = await asking.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  expect(error).toBeInstanceOf(WebhookError)
  const { status, message } = error as WebhookError
  return { status, message }
}
