/** Masks random and time-dependent values, so that the objects of two servers can be compared. */

// biome-ignore lint/suspicious/noExplicitAny: reads fields of any object.
export type Loose = Record<string, any>

const suffix = '[b-df-hj-np-tv-xz2456789]{5}'

const replacements: ReadonlyArray<readonly [RegExp, string]> = [
  [/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, '<uid>'],
  [/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g, '<time>'],
  [/\b10\.\d+\.\d+\.\d+\b/g, '<address>'],
  [/\btick-\d+\b/g, 'tick-<minute>'],
  // Names of pods of ReplicaSets, of ReplicaSets and revisions, and of pods with a random suffix only.
  [new RegExp(`\\b(web|stuck|once)-[4-9bcdf]{6,10}-${suffix}\\b`, 'g'), '$1-<hash>-<random>'],
  [/\b(web|stuck|once|db|agent)-[4-9bcdf]{6,10}\b/g, '$1-<hash>'],
  [new RegExp(`\\b((?:work|bad|late|indexed-\\d|web|db|agent|tick-<minute>))-${suffix}\\b`, 'g'), '$1-<random>'],
  [
    /"(pod-template-hash|controller-revision-hash|controller\.kubernetes\.io\/hash)":"[4-9bcdf]{6,10}"/g,
    '"$1":"<hash>"',
  ],
]

export function mask(text: string): string {
  return replacements.reduce((result, [pattern, replacement]) => result.replaceAll(pattern, replacement), text)
}

/** Masked objects, sorted by their content. */
export function maskObjects(objects: readonly Loose[]): Loose[] {
  return objects
    .map((object) => mask(JSON.stringify(withoutNoise(object))))
    .sort()
    .map((text) => JSON.parse(text))
}

/** Without resource versions, managed fields, protection finalizers, token volumes, and the detailed status of pods. */
function withoutNoise({ metadata, spec, status, ...rest }: Loose): Loose {
  const { managedFields: _, resourceVersion: _version, annotations, finalizers, generation, ...meta } = metadata
  const { 'endpoints.kubernetes.io/last-change-trigger-time': _time, ...kept } = annotations ?? {}
  const held = finalizers?.filter((name: string) => !name.endsWith('-protection'))
  return {
    ...rest,
    metadata: {
      ...meta,
      annotations: kept,
      ...(held?.length && { finalizers: held }),
      // The generation of a slice depends on how many pods become ready at once.
      ...(rest['kind'] !== 'EndpointSlice' && { generation }),
    },
    ...(spec && { spec: rest['kind'] === 'Pod' ? podSpec(spec) : withoutVersions(spec) }),
    ...(status && { status: rest['kind'] === 'Pod' ? { phase: status.phase } : withoutVersions(status) }),
  }
}

function podSpec({ volumes, containers, ...spec }: Loose): Loose {
  const isToken = ({ name }: Loose) => name.startsWith('kube-api-access-')
  const kept = volumes?.filter((volume: Loose) => !isToken(volume)) ?? []
  return {
    ...spec,
    containers: containers.map(({ volumeMounts: _, ...container }: Loose) => container),
    ...(kept.length > 0 && { volumes: kept }),
  }
}

function withoutVersions(value: Loose): Loose {
  return JSON.parse(JSON.stringify(value, (key, inner) => (key === 'resourceVersion' ? undefined : inner)))
}
