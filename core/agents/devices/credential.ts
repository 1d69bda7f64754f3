/** How the credential of a device begins. */
export const DEVICE_PREFIX = "svc_device_";
