/** The version of Kubernetes whose API the embedded server implements: that of the modules in tools/envtest/go.mod. */
export const kubernetesVersion = '1.36.3'
