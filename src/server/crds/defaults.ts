/** Defaults of a CRD. Called by crd-resource.ts after decoding. */
import type { CrdNames, CustomResourceDefinition } from './definition.ts'

export function applyCrdDefaults(crd: CustomResourceDefinition): void {
  const { spec, status } = crd
  spec.names = withDefaultNames(spec.names)
  spec.conversion ??= { strategy: 'None' }
  const service = spec.conversion.webhook?.clientConfig?.service
  if (service) service.port ??= 443
  if (!status.storedVersions?.length) {
    const storage = spec.versions?.find((version) => version.storage)
    if (storage) status.storedVersions = [storage.name]
  }
}

/** Builds a new object, so that the fields are in the order in which the API writes them. */
function withDefaultNames({ plural, singular, shortNames, kind, listKind, categories }: CrdNames): CrdNames {
  const one = singular || kind.toLowerCase()
  const list = listKind || (kind === '' ? '' : `${kind}List`)
  return {
    plural,
    ...(one === '' ? {} : { singular: one }),
    ...(shortNames ? { shortNames } : {}),
    kind,
    ...(list === '' ? {} : { listKind: list }),
    ...(categories ? { categories } : {}),
  }
}
