/** Turns the objects that `kopf manifests` prints into Helm templates: one file for each kind, with actions where values are used. */
import type { KubeObject } from '../../../kube/objects.ts'
import { type CommentedObject, type DeploymentPlan, labelsOf } from '../plan.ts'
import type { WorkloadDefaults } from './chart-values.ts'
import { TemplateText } from './template-text.ts'

/** The parts of the Deployment that have actions in the template. */
interface WrittenDeployment {
  readonly metadata: object
  readonly spec: {
    readonly replicas: number
    readonly template: { readonly metadata: { readonly labels: object }; readonly spec: WrittenPod }
  }
}

interface WrittenPod {
  readonly securityContext: object
  readonly topologySpreadConstraints?: readonly object[]
  readonly containers: readonly [WrittenContainer]
}

interface WrittenContainer {
  readonly args: readonly string[]
  readonly env: readonly { readonly name: string; readonly value?: string }[]
  readonly resources: object
}

interface WrittenServiceMonitor {
  readonly spec: { readonly endpoints: readonly object[] }
}

interface TemplateFile {
  readonly file: string
  /** The condition of the documents in this file; undefined if they are always written. */
  readonly condition?: string
}

const isReplicated = 'gt (int .Values.replicas) 1'

const filesByKind: Readonly<Record<string, TemplateFile>> = {
  ServiceAccount: { file: 'serviceaccount.yaml', condition: '.Values.serviceAccount.create' },
  ClusterRole: { file: 'rbac.yaml', condition: '.Values.rbac.create' },
  ClusterRoleBinding: { file: 'rbac.yaml', condition: '.Values.rbac.create' },
  Role: { file: 'rbac.yaml', condition: '.Values.rbac.create' },
  RoleBinding: { file: 'rbac.yaml', condition: '.Values.rbac.create' },
  Secret: { file: 'secret.yaml' },
  NetworkPolicy: { file: 'networkpolicy.yaml', condition: '.Values.networkPolicy.enabled' },
  Service: { file: 'service.yaml' },
  Deployment: { file: 'deployment.yaml' },
  ServiceMonitor: { file: 'servicemonitor.yaml', condition: '.Values.monitoring.serviceMonitor.enabled' },
  PrometheusRule: { file: 'prometheusrule.yaml', condition: '.Values.monitoring.prometheusRule.enabled' },
  ConfigMap: { file: 'grafana-dashboard.yaml', condition: '.Values.monitoring.grafanaDashboard.enabled' },
  PodDisruptionBudget: { file: 'poddisruptionbudget.yaml', condition: isReplicated },
}

/** The texts of the templates by file name. The order of the files does not matter: Helm sorts the objects by kind. */
export function writeTemplates(plan: DeploymentPlan, objects: readonly CommentedObject[]): Map<string, string> {
  const texts = new Map<string, string>()
  for (const one of objects) {
    const { file, condition } = filesByKind[one.object.kind!]!
    const text = writeTemplate(plan, one)
    const document = condition === undefined ? text : `{{- if ${condition} }}\n${text}{{- end }}\n`
    texts.set(file, texts.has(file) ? `${texts.get(file)}---\n${document}` : document)
  }
  return texts
}

function writeTemplate(plan: DeploymentPlan, { object, remarks }: CommentedObject): string {
  const template = new TemplateText()
  const metadata = writeMetadata(template, plan, object as KubeObject)
  const written = { ...object, metadata }
  switch (object.kind) {
    case 'Deployment':
      return `{{- include "${plan.name}.check" . }}\n${template.format(
        writeDeployment(template, plan, written as unknown as WrittenDeployment),
        remarks,
      )}`
    case 'ServiceAccount': {
      const name = template.value(`include "${plan.name}.serviceAccountName" .`)
      const annotations = { [template.optional('serviceAccount.annotations', 'annotations')]: null }
      return template.format({ ...written, metadata: { ...metadata, name, ...annotations } }, remarks)
    }
    case 'ServiceMonitor':
      return template.format(writeServiceMonitor(template, written as unknown as WrittenServiceMonitor), remarks)
    case 'ClusterRoleBinding':
    case 'RoleBinding':
      return template.format({ ...written, subjects: [writeSubject(template, plan)] }, remarks)
    default:
      return template.format(written, remarks)
  }
}

/** Objects in the namespace of the operator follow the release. Roles in other namespaces stay there. */
function writeMetadata(
  template: TemplateText,
  plan: DeploymentPlan,
  { kind, metadata }: KubeObject,
): Record<string, unknown> {
  const { name, namespace } = metadata
  const home = namespace === plan.namespace ? template.value('.Release.Namespace | quote') : namespace
  const known = labelsOf(plan)
  const own = Object.entries(metadata.labels ?? {}).filter(([label]) => !Object.hasOwn(known, label))
  const isSelected = kind === 'ServiceMonitor' || kind === 'PrometheusRule'
  const labels = {
    ...template.yaml(`include "${plan.name}.labels" .`),
    ...Object.fromEntries(own),
    ...(isSelected && { [template.optional('monitoring.labels')]: null }),
  }
  return { name, ...(namespace !== undefined && { namespace: home }), labels }
}

function writeServiceMonitor(template: TemplateText, { spec, ...rest }: WrittenServiceMonitor): object {
  const tlsConfig = template.yaml('toYaml .Values.monitoring.serviceMonitor.tlsConfig')
  return { ...rest, spec: { ...spec, endpoints: spec.endpoints.map((endpoint) => ({ ...endpoint, tlsConfig })) } }
}

function writeSubject(template: TemplateText, { name }: DeploymentPlan): object {
  return {
    kind: 'ServiceAccount',
    name: template.value(`include "${name}.serviceAccountName" .`),
    namespace: template.value('.Release.Namespace | quote'),
  }
}

function writeDeployment(template: TemplateText, plan: DeploymentPlan, object: WrittenDeployment): object {
  const pod = object.spec.template
  const labels = { ...pod.metadata.labels, [template.optional('podLabels')]: null }
  const metadata = { [template.optional('podAnnotations', 'annotations')]: null, labels }
  return {
    ...object,
    spec: {
      ...object.spec,
      replicas: template.value('.Values.replicas'),
      template: { metadata, spec: writePod(template, plan, pod.spec) },
    },
  }
}

function writePod(template: TemplateText, { name }: DeploymentPlan, pod: WrittenPod): object {
  const { topologySpreadConstraints, containers, ...rest } = pod
  const priority = template.block(() => [
    '{{- with .Values.priorityClassName }}',
    'priorityClassName: {{ . }}',
    '{{- end }}',
  ])
  const optional = ['imagePullSecrets', 'nodeSelector', 'tolerations', 'affinity'].map((field) => [
    template.optional(field, field),
    null,
  ])
  return {
    ...rest,
    serviceAccountName: template.value(`include "${name}.serviceAccountName" .`),
    terminationGracePeriodSeconds: template.value('int .Values.terminationGracePeriodSeconds'),
    securityContext: template.yaml('toYaml .Values.podSecurityContext'),
    [priority]: null,
    ...Object.fromEntries(optional),
    ...(topologySpreadConstraints && template.when(isReplicated, { topologySpreadConstraints })),
    containers: containers.map((container) => writeContainer(template, name, container)),
  }
}

function writeContainer(template: TemplateText, name: string, container: WrittenContainer): object {
  const { args, env } = container
  const pullPolicy = template.block(() => [
    '{{- with .Values.image.pullPolicy }}',
    'imagePullPolicy: {{ . }}',
    '{{- end }}',
  ])
  const written: Readonly<Record<string, string>> = {
    NODE_OPTIONS: `--max-old-space-size=${template.value('int .Values.heapMiB')}`,
    KOPF_RUN_GRACE_PERIOD: template.value('int .Values.terminationGracePeriodSeconds | quote'),
  }
  return {
    ...container,
    image: template.value(`include "${name}.image" .`),
    args: [
      ...args.map((arg) => arg.replace(/(?<=^--log-format=).*/, () => template.value('.Values.logFormat'))),
      template.optional('extraArgs'),
    ],
    env: [
      ...env.map((one) => (one.name in written ? { ...one, value: written[one.name] } : one)),
      template.optional('env'),
    ],
    resources: template.yaml('toYaml .Values.resources'),
    [template.optional('envFrom', 'envFrom')]: null,
    [pullPolicy]: null,
  }
}

/** CRDs are templates, so that `helm upgrade` updates them. Helm only ever installs the files of a folder `crds`. */
export function writeCrdTemplate(crd: KubeObject): string {
  const template = new TemplateText()
  const keep = template.when('.Values.crds.keep', { 'helm.sh/resource-policy': 'keep' })
  const annotations = { ...crd.metadata.annotations, ...keep }
  const text = template.format({ ...crd, metadata: { ...crd.metadata, annotations } })
  return `{{- if .Values.crds.install }}\n${text}{{- end }}\n`
}

/** The default values that are read from the written Deployment. */
export function readDefaults(objects: readonly CommentedObject[], plan: DeploymentPlan): WorkloadDefaults {
  const found = objects.find(({ object }) => object.kind === 'Deployment')!.object as unknown as WrittenDeployment
  const { securityContext, containers } = found.spec.template.spec
  const [{ resources, env }] = containers
  const heap = env.find(({ name }) => name === 'NODE_OPTIONS')!.value!
  return {
    replicas: plan.replicas,
    podSecurityContext: securityContext,
    resources,
    heapMi: Number(heap.split('=')[1]),
  }
}
