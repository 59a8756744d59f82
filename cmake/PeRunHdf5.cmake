# HDF5, as PE_RUN_HDF5_LIBRARIES. Where its static library is there (Debian's libhdf5-dev has it), that one is linked:
# the shared one brings libcurl, for files in the cloud, and with it forty more libraries, which take longer to load than
# pe-run takes from its start to its first job.
option(PE_RUN_STATIC_HDF5 "Link HDF5's static library, where there is one" ON)
find_package(HDF5 REQUIRED COMPONENTS C HL)
set(PE_RUN_HDF5_LIBRARIES ${HDF5_C_HL_LIBRARIES} ${HDF5_C_LIBRARIES})
if(PE_RUN_STATIC_HDF5)
  include(CheckCSourceCompiles)
  foreach(library IN LISTS HDF5_C_LIBRARIES HDF5_C_HL_LIBRARIES)
    get_filename_component(folder ${library} DIRECTORY)
    list(APPEND hdf5_folders ${folder})
  endforeach()
  find_library(PE_RUN_HDF5_HL_ARCHIVE NAMES libhdf5_serial_hl.a libhdf5_hl.a HINTS ${hdf5_folders})
  find_library(PE_RUN_HDF5_ARCHIVE NAMES libhdf5_serial.a libhdf5.a HINTS ${hdf5_folders})
  # Of its filters, those that there are; archives first: a library less to load.
  find_library(PE_RUN_SZ_LIBRARY NAMES libsz.a sz)
  find_library(PE_RUN_AEC_LIBRARY NAMES libaec.a aec)
  find_library(PE_RUN_Z_LIBRARY NAMES z)
  mark_as_advanced(PE_RUN_HDF5_HL_ARCHIVE PE_RUN_HDF5_ARCHIVE PE_RUN_SZ_LIBRARY PE_RUN_AEC_LIBRARY PE_RUN_Z_LIBRARY)
  foreach(library PE_RUN_HDF5_HL_ARCHIVE PE_RUN_HDF5_ARCHIVE PE_RUN_SZ_LIBRARY PE_RUN_AEC_LIBRARY PE_RUN_Z_LIBRARY)
    if(${library})
      list(APPEND hdf5_static ${${library}})
    endif()
  endforeach()
  list(APPEND hdf5_static Threads::Threads ${CMAKE_DL_LIBS} m)
  # A library that was built with more than that is left alone.
  set(CMAKE_REQUIRED_INCLUDES ${HDF5_C_INCLUDE_DIRS})
  set(CMAKE_REQUIRED_LIBRARIES ${hdf5_static})
  check_c_source_compiles("#include <hdf5_hl.h>
    int main(void) {
      hid_t list = H5Pcreate(H5P_DATASET_CREATE);
      return H5open() < 0 || H5Pset_deflate(list, 4) < 0 || H5Pset_szip(list, 4, 8) < 0 || H5DSset_scale(list, \"x\") < 0;
    }" PE_RUN_HDF5_IS_STATIC)
  unset(CMAKE_REQUIRED_INCLUDES)
  unset(CMAKE_REQUIRED_LIBRARIES)
  if(PE_RUN_HDF5_HL_ARCHIVE AND PE_RUN_HDF5_ARCHIVE AND PE_RUN_HDF5_IS_STATIC)
    set(PE_RUN_HDF5_LIBRARIES ${hdf5_static})
  endif()
endif()
