//! How host names are looked up.
//!
//! The packaged binary is static: it carries glibc's modules for `files` and `dns` and can load no other. A machine
//! whose `/etc/nsswitch.conf` names others (`resolve`, `mymachines`, `ldap` …) would have it try, and fail or crash in
//! a library built for another glibc. So the two are set before the first look-up, whatever that file says. Groups and
//! users are read from `/etc/group` and `/etc/passwd` directly, without glibc.

use std::ffi::{CStr, c_char, c_int};

#[cfg(target_env = "gnu")]
unsafe extern "C" {
    fn __nss_configure_lookup(database: *const c_char, services: *const c_char) -> c_int;
}

/// Host names come from `/etc/hosts` and DNS from now on. `false` where glibc refused that (it had no memory): then the
/// look-ups are as the machine has them, and it is no reason not to start.
///
/// # Safety
/// No other thread may run yet: a look-up under way would see the services change.
#[must_use]
pub unsafe fn look_up_in_files_and_dns() -> bool {
    const HOSTS: &CStr = c"hosts";
    const SERVICES: &CStr = c"files dns";
    // SAFETY: both are C strings that live for ever, and by the caller's word no look-up is under way.
    #[cfg(target_env = "gnu")]
    let refused = unsafe { __nss_configure_lookup(HOSTS.as_ptr(), SERVICES.as_ptr()) };
    #[cfg(not(target_env = "gnu"))]
    let refused: c_int = (HOSTS, SERVICES, 0).2;
    refused == 0
}
