/**
 * Describes resources without a cluster: from the operator's own definitions, from the built-in resources, or from the selector
 * alone.
 */
import type { CustomResource, Resource } from '../../kube/resources/resources.ts'
import { type ResourceSelector, selectResources } from '../../kube/resources/selectors.ts'
import { builtinResources } from '../../server/builtins/resources.ts'
import { lazy } from '../../util/lazy.ts'

export class KnownResources {
  readonly #defined: readonly Resource[]

  constructor(definitions: readonly CustomResource<object>[]) {
    this.#defined = definitions.map(fromDefinition)
  }

  describe(selector: ResourceSelector): Resource {
    const [found] = selectResources(selector, this.#defined).candidates
    return found ?? selectResources(selector, builtins()).candidates[0] ?? fromName(selector)
  }
}

function fromDefinition(definition: CustomResource<object>): Resource {
  const { group, version, plural, kind, singular, shortNames, categories, scope, status, scale } = definition
  return {
    ...{ group, version, plural, kind, singular, categories, shortcuts: shortNames, verbs: [], preferred: true },
    subresources: [...(scale === undefined ? [] : ['scale']), ...(status === undefined ? [] : ['status'])],
    namespaced: scope === 'Namespaced',
  }
}

const builtins = lazy((): readonly Resource[] =>
  builtinResources(() => new Date(0)).map(({ shortNames, subresources, ...resource }) => ({
    ...resource,
    shortcuts: shortNames,
    subresources: subresources.map(({ name }) => name),
    preferred: true,
  })),
)

/** Describes an unknown resource from the names in the selector, with defaults for the rest. */
function fromName(selector: ResourceSelector): Resource {
  const { name, kind, plural, singular, shortcut, category } = selector
  const label = typeof name === 'string' ? name : (kind ?? plural ?? singular ?? shortcut ?? category ?? 'objects')
  return {
    group: selector.group ?? 'example.com',
    version: selector.version ?? 'v1',
    plural: plural ?? label.toLowerCase(),
    kind: kind ?? label,
    singular: singular ?? label.toLowerCase(),
    shortcuts: [shortcut ?? label],
    categories: category === undefined ? [] : [category],
    subresources: [],
    namespaced: true,
    preferred: true,
    verbs: [],
  }
}
