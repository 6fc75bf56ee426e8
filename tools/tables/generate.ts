/**
 * Writes src/server/tables/headers.generated.ts: how the real server describes the columns of its built-in tables, from the
 * pinned Kubernetes source. Run by maintainers after the pin in tools/envtest has moved: `npx tsx tools/tables/generate.ts`.
 * The cells are ours, in src/server/tables: only names, types, priorities and descriptions come from here.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

interface Header {
  readonly name: string
  readonly type: string
  readonly format: string
  readonly description: string
  readonly priority: number
}

/** The resources of each column list in printers.go; resources that a default server does not serve are left out. */
const resources: Readonly<Record<string, readonly string[]>> = {
  pod: ['/pods'],
  podTemplate: ['/podtemplates'],
  replicationController: ['/replicationcontrollers'],
  service: ['/services'],
  endpoint: ['/endpoints'],
  node: ['/nodes'],
  event: ['/events', 'events.k8s.io/events'],
  namespace: ['/namespaces'],
  secret: ['/secrets'],
  serviceAccount: ['/serviceaccounts'],
  persistentVolume: ['/persistentvolumes'],
  persistentVolumeClaim: ['/persistentvolumeclaims'],
  componentStatus: ['/componentstatuses'],
  configMap: ['/configmaps'],
  resourceQuota: ['/resourcequotas'],
  replicaSet: ['apps/replicasets'],
  daemonSet: ['apps/daemonsets'],
  statefulSet: ['apps/statefulsets'],
  deployment: ['apps/deployments'],
  controllerRevision: ['apps/controllerrevisions'],
  job: ['batch/jobs'],
  cronJob: ['batch/cronjobs'],
  horizontalPodAutoscaler: ['autoscaling/horizontalpodautoscalers'],
  scale: ['autoscaling/scale'],
  podDisruptionBudget: ['policy/poddisruptionbudgets'],
  ingress: ['networking.k8s.io/ingresses'],
  ingressClass: ['networking.k8s.io/ingressclasses'],
  networkPolicy: ['networking.k8s.io/networkpolicies'],
  serviceCIDR: ['networking.k8s.io/servicecidrs'],
  ipAddress: ['networking.k8s.io/ipaddresses'],
  roleBindings: ['rbac.authorization.k8s.io/rolebindings'],
  clusterRoleBindings: ['rbac.authorization.k8s.io/clusterrolebindings'],
  certificateSigningRequest: ['certificates.k8s.io/certificatesigningrequests'],
  lease: ['coordination.k8s.io/leases'],
  storageClass: ['storage.k8s.io/storageclasses'],
  volumeAttributesClass: ['storage.k8s.io/volumeattributesclasses'],
  volumeAttachment: ['storage.k8s.io/volumeattachments'],
  csiNode: ['storage.k8s.io/csinodes'],
  csiDriver: ['storage.k8s.io/csidrivers'],
  priorityClass: ['scheduling.k8s.io/priorityclasses'],
  runtimeClass: ['node.k8s.io/runtimeclasses'],
  endpointSlice: ['discovery.k8s.io/endpointslices'],
  mutatingWebhook: ['admissionregistration.k8s.io/mutatingwebhookconfigurations'],
  validatingWebhook: ['admissionregistration.k8s.io/validatingwebhookconfigurations'],
  validatingAdmissionPolicy: ['admissionregistration.k8s.io/validatingadmissionpolicies'],
  validatingAdmissionPolicyBinding: ['admissionregistration.k8s.io/validatingadmissionpolicybindings'],
  mutatingAdmissionPolicy: ['admissionregistration.k8s.io/mutatingadmissionpolicies'],
  mutatingAdmissionPolicyBinding: ['admissionregistration.k8s.io/mutatingadmissionpolicybindings'],
  flowSchema: ['flowcontrol.apiserver.k8s.io/flowschemas'],
  priorityLevel: ['flowcontrol.apiserver.k8s.io/prioritylevelconfigurations'],
  deviceClass: ['resource.k8s.io/deviceclasses'],
  resourceClaim: ['resource.k8s.io/resourceclaims'],
  resourceClaimTemplate: ['resource.k8s.io/resourceclaimtemplates'],
  nodeResourceSlice: ['resource.k8s.io/resourceslices'],
}

const here = fileURLToPath(new URL('.', import.meta.url))

function moduleFolder(name: string): string {
  const options = { cwd: join(here, '../envtest'), encoding: 'utf8' as const }
  return execFileSync('go', ['list', '-m', '-f', '{{.Dir}}', `k8s.io/${name}`], options).trim()
}

const printers = readFileSync(join(moduleFolder('kubernetes'), 'pkg/printers/internalversion/printers.go'), 'utf8')
const modules: Readonly<Record<string, string>> = {
  api: moduleFolder('api'),
  apimachinery: moduleFolder('apimachinery'),
}
const packages = new Map(
  [...printers.matchAll(/^\s+(\w+) "k8s\.io\/(api|apimachinery)\/([^"]+)"/gm)].map(([, alias, module, path]) => [
    alias!,
    join(modules[module!]!, path!, 'types_swagger_doc_generated.go'),
  ]),
)

/** `apiv1.PodSpec{}.SwaggerDoc()["nodeName"]`: the API's description of a field; empty if it has none. */
function readDocumentation(alias: string, type: string, field: string): string {
  const source = readFileSync(packages.get(alias)!, 'utf8')
  const fields = source.match(new RegExp(`map_${type} = map\\[string\\]string\\{([\\s\\S]*?)\\n\\}`))![1]!
  const text = fields.match(new RegExp(`"${field}":\\s+("(?:[^"\\\\]|\\\\.)*"),`))?.[1]
  return text === undefined ? '' : JSON.parse(text)
}

function readHeader(line: string): Header {
  const word = (key: string): string | undefined => line.match(new RegExp(`${key}: "?([^",]*)`))?.[1]
  const literal = line.match(/Description: ("(?:[^"\\]|\\.)*")/)?.[1]
  // printers.go refers to one type by a field of another type: the object of an event.
  const source = line.replace('Event{}.InvolvedObject', 'ObjectReference{}')
  const reference = source.match(/Description: (\w+)\.(\w+)\{\}\.SwaggerDoc\(\)\["(\w+)"\]/)
  return {
    name: word('Name')!,
    type: word('Type')!,
    format: word('Format') ?? '',
    description: literal ? JSON.parse(literal) : readDocumentation(reference![1]!, reference![2]!, reference![3]!),
    priority: Number(word('Priority') ?? 0),
  }
}

const headers: Record<string, Header[]> = {}
const lists = /(\w+) :?= (?:append\(\w+, )?\[\]metav1\.TableColumnDefinition\{([\s\S]*?)\n\t\}/g
for (const [, variable, body] of printers.matchAll(lists)) {
  for (const resource of resources[variable!.replace(/ColumnDefinitio\w*$/, '')] ?? []) {
    headers[resource] ??= []
    headers[resource].push(...[...body!.matchAll(/\{(Name: .*)\},/g)].map(([, line]) => readHeader(line!)))
  }
}
for (const names of Object.values(resources))
  for (const name of names) if (!headers[name]) throw new Error(`No columns found for ${name}`)

// Nearly every table has these two columns, so their descriptions are written once.
const name = JSON.stringify(readDocumentation('metav1', 'ObjectMeta', 'name'))
const creationTimestamp = JSON.stringify(readDocumentation('metav1', 'ObjectMeta', 'creationTimestamp'))

function writeHeader(header: Header): string {
  const line = JSON.stringify(header)
  return line
    .replace(`:${name},`, ':descriptions.name,')
    .replace(`:${creationTimestamp},`, ':descriptions.creationTimestamp,')
}

const lines = Object.entries(headers).map(([resource, columns]) => {
  return `  '${resource}': [\n${columns.map((column) => `    ${writeHeader(column)},\n`).join('')}  ],\n`
})
writeFileSync(
  join(here, '../../src/server/tables/headers.generated.ts'),
  `// biome-ignore-all format: written by tools/tables/generate.ts, one column a line
import type { Column } from '../resource.ts'

export const descriptions = {
  name: ${name},
  creationTimestamp: ${creationTimestamp},
} as const

export const headers: Readonly<Record<string, ReadonlyArray<Omit<Column, 'cell'>>>> = {
${lines.join('')}}
`,
)
