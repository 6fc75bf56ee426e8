/** All views by name. */
import type { ViewName, Views } from '../protocol.ts'
import { viewObject } from './object-view.ts'
import { viewObjects } from './objects-view.ts'
import { viewOverview } from './overview.ts'
import { viewProblems } from './problems-view.ts'
import type { ViewRequest, ViewSource } from './source.ts'
import { viewHandlers, viewRequests, viewWebhooks } from './tables.ts'

type ViewFunctions = {
  readonly [N in ViewName]: (source: ViewSource, request: ViewRequest) => Views[N] | Promise<Views[N]>
}

export const views: ViewFunctions = {
  overview: viewOverview,
  objects: viewObjects,
  object: viewObject,
  handlers: viewHandlers,
  requests: viewRequests,
  webhooks: viewWebhooks,
  problems: viewProblems,
}

export function isViewName(name: string): name is ViewName {
  return Object.hasOwn(views, name)
}
